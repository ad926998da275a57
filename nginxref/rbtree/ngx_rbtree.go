// Package rbtree is nginx's intrusive red-black tree (ngx_rbtree.c), after
// Cormen, Leiserson and Rivest. It orders the timers: the next one to expire
// is the leftmost node, and adding or deleting one costs O(log n) and
// allocates nothing.
//
// What holds between calls:
//   - a node's key is not below those on its left nor above those on its
//     right; equal keys stay in the order they were inserted
//   - the root and the sentinel are black
//   - a red node has black children
//   - every path from the root down meets the same number of black nodes
//
// One thread uses a tree, the loop's; there is no lock.
package rbtree

import "unsafe"

// Key orders the nodes, ngx_rbtree_key_t. A timer's is its expiry in
// milliseconds.
type Key uint64

// KeyInt is the signed difference of two keys, ngx_rbtree_key_int_t.
type KeyInt int64

// Node is a field of the thing that is ordered, ngx_rbtree_node_t. Key must
// not change while the node is in a tree.
type Node struct {
	Key    Key
	left   *Node
	right  *Node
	parent *Node
	red    bool
}

// InsertFunc hangs node, red, under the subtree at root, which is not empty.
// It decides the order. Mirrors ngx_rbtree_insert_pt.
type InsertFunc func(root, node, sentinel *Node)

// Tree is ngx_rbtree_t. It is empty when Root == Sentinel.
type Tree struct {
	Root     *Node
	Sentinel *Node // stands for every absent child; always black
	insert   InsertFunc
}

// Init makes tree empty, ordered by i; s becomes its sentinel, which must be
// black. Mirrors ngx_rbtree_init.
//
//nginx:src/core/ngx_rbtree.h ngx_rbtree_init
func (tree *Tree) Init(s *Node, i InsertFunc) {
	s.red = false     // 45
	tree.Root = s     // 46
	tree.Sentinel = s // 47
	tree.insert = i   // 48
}

// Data returns the structure whose Node field is node; offset is that
// field's unsafe.Offsetof. Mirrors ngx_rbtree_data.
//
//nginx:src/core/ngx_rbtree.h ngx_rbtree_data
func Data[T any](node *Node, offset uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(node), -int(offset))) // 51
}

// Insert adds node by its Key. Mirrors ngx_rbtree_insert.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_insert
func (tree *Tree) Insert(node *Node) {
	// A binary tree insert.

	root := &tree.Root        // 31
	sentinel := tree.Sentinel // 32

	if *root == sentinel { // 34
		node.parent = nil     // 35
		node.left = sentinel  // 36
		node.right = sentinel // 37
		node.red = false      // 38
		*root = node          // 39

		return // 41
	}

	tree.insert(*root, node, sentinel) // 44

	// Rebalance: node is red, and so may be its parent. A red uncle lets the
	// grandparent take the red on, two levels up; a black one takes at most
	// two rotations and ends the loop.

	for node != *root && node.parent.red { // 48

		if node.parent == node.parent.parent.left { // 50
			temp := node.parent.parent.right // 51

			if temp.red { // 53
				node.parent.red = false       // 54
				temp.red = false              // 55
				node.parent.parent.red = true // 56
				node = node.parent.parent     // 57

			} else {
				if node == node.parent.right { // 60
					node = node.parent               // 61
					leftRotate(root, sentinel, node) // 62
				}

				node.parent.red = false                         // 65
				node.parent.parent.red = true                   // 66
				rightRotate(root, sentinel, node.parent.parent) // 67
			}

		} else {
			temp := node.parent.parent.left // 71

			if temp.red { // 73
				node.parent.red = false       // 74
				temp.red = false              // 75
				node.parent.parent.red = true // 76
				node = node.parent.parent     // 77

			} else {
				if node == node.parent.left { // 80
					node = node.parent                // 81
					rightRotate(root, sentinel, node) // 82
				}

				node.parent.red = false                        // 85
				node.parent.parent.red = true                  // 86
				leftRotate(root, sentinel, node.parent.parent) // 87
			}
		}
	}

	(*root).red = false // 92
}

// InsertValue orders nodes by plain comparison of their keys. Mirrors
// ngx_rbtree_insert_value.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_insert_value
func InsertValue(temp, node, sentinel *Node) {
	var p **Node

	for { // 102

		if node.Key < temp.Key { // 104
			p = &temp.left // 104
		} else {
			p = &temp.right // 104
		}

		if *p == sentinel { // 106
			break // 107
		}

		temp = *p // 110
	}

	*p = node             // 113
	node.parent = temp    // 114
	node.left = sentinel  // 115
	node.right = sentinel // 116
	node.red = true       // 117
}

// InsertTimerValue orders nodes by the sign of the difference of their keys.
// A clock in milliseconds wraps (a 32-bit one after 49 days) and timers lie
// close together, so a key that is small because it wrapped still sorts
// after the large ones before it. Mirrors ngx_rbtree_insert_timer_value.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_insert_timer_value
func InsertTimerValue(temp, node, sentinel *Node) {
	var p **Node

	for { // 127

		if KeyInt(node.Key-temp.Key) < 0 { // 138
			p = &temp.left // 138
		} else {
			p = &temp.right // 138
		}

		if *p == sentinel { // 141
			break // 142
		}

		temp = *p // 145
	}

	*p = node             // 148
	node.parent = temp    // 149
	node.left = sentinel  // 150
	node.right = sentinel // 151
	node.red = true       // 152
}

// Delete takes node out of tree. node's links and Key are cleared, so a
// second Delete panics. Mirrors ngx_rbtree_delete.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_delete
func (tree *Tree) Delete(node *Node) {
	var subst, temp, w *Node

	// A binary tree delete. subst is the node that leaves its place, temp
	// the child that takes it; temp may be the sentinel, whose parent is
	// then set and used below.

	root := &tree.Root        // 164
	sentinel := tree.Sentinel // 165

	if node.left == sentinel { // 167
		temp = node.right // 168
		subst = node      // 169

	} else if node.right == sentinel { // 171
		temp = node.left // 172
		subst = node     // 173

	} else {
		subst = Min(node.right, sentinel) // 176
		temp = subst.right                // 177
	}

	if subst == *root { // 180
		*root = temp     // 181
		temp.red = false // 182

		node.left = nil   // 185
		node.right = nil  // 186
		node.parent = nil // 187
		node.Key = 0      // 188

		return // 190
	}

	red := subst.red // 193

	if subst == subst.parent.left { // 195
		subst.parent.left = temp // 196

	} else {
		subst.parent.right = temp // 199
	}

	if subst == node { // 202

		temp.parent = subst.parent // 204

	} else {

		if subst.parent == node { // 208
			temp.parent = subst // 209

		} else {
			temp.parent = subst.parent // 212
		}

		subst.left = node.left     // 215
		subst.right = node.right   // 216
		subst.parent = node.parent // 217
		subst.red = node.red       // 218

		if node == *root { // 220
			*root = subst // 221

		} else {
			if node == node.parent.left { // 224
				node.parent.left = subst // 225
			} else {
				node.parent.right = subst // 227
			}
		}

		if subst.left != sentinel { // 231
			subst.left.parent = subst // 232
		}

		if subst.right != sentinel { // 235
			subst.right.parent = subst // 236
		}
	}

	node.left = nil   // 241
	node.right = nil  // 242
	node.parent = nil // 243
	node.Key = 0      // 244

	if red { // 246
		return // 247
	}

	// A delete fixup: the paths through temp are one black node short. A red
	// temp is painted black; else its sibling w pays, by turning red or by
	// rotations, or the debt moves up to the parent.

	for temp != *root && !temp.red { // 252

		if temp == temp.parent.left { // 254
			w = temp.parent.right // 255

			if w.red { // 257
				w.red = false                           // 258
				temp.parent.red = true                  // 259
				leftRotate(root, sentinel, temp.parent) // 260
				w = temp.parent.right                   // 261
			}

			if !w.left.red && !w.right.red { // 264
				w.red = true       // 265
				temp = temp.parent // 266

			} else {
				if !w.right.red { // 269
					w.left.red = false             // 270
					w.red = true                   // 271
					rightRotate(root, sentinel, w) // 272
					w = temp.parent.right          // 273
				}

				w.red = temp.parent.red                 // 276
				temp.parent.red = false                 // 277
				w.right.red = false                     // 278
				leftRotate(root, sentinel, temp.parent) // 279
				temp = *root                            // 280
			}

		} else {
			w = temp.parent.left // 284

			if w.red { // 286
				w.red = false                            // 287
				temp.parent.red = true                   // 288
				rightRotate(root, sentinel, temp.parent) // 289
				w = temp.parent.left                     // 290
			}

			if !w.left.red && !w.right.red { // 293
				w.red = true       // 294
				temp = temp.parent // 295

			} else {
				if !w.left.red { // 298
					w.right.red = false           // 299
					w.red = true                  // 300
					leftRotate(root, sentinel, w) // 301
					w = temp.parent.left          // 302
				}

				w.red = temp.parent.red                  // 305
				temp.parent.red = false                  // 306
				w.left.red = false                       // 307
				rightRotate(root, sentinel, temp.parent) // 308
				temp = *root                             // 309
			}
		}
	}

	temp.red = false // 314
}

// leftRotate lifts node's right child into node's place. Mirrors
// ngx_rbtree_left_rotate.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_left_rotate
func leftRotate(root **Node, sentinel, node *Node) {
	temp := node.right     // 324
	node.right = temp.left // 325

	if temp.left != sentinel { // 327
		temp.left.parent = node // 328
	}

	temp.parent = node.parent // 331

	if node == *root { // 333
		*root = temp // 334

	} else if node == node.parent.left { // 336
		node.parent.left = temp // 337

	} else {
		node.parent.right = temp // 340
	}

	temp.left = node   // 343
	node.parent = temp // 344
}

// rightRotate lifts node's left child into node's place. Mirrors
// ngx_rbtree_right_rotate.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_right_rotate
func rightRotate(root **Node, sentinel, node *Node) {
	temp := node.left      // 354
	node.left = temp.right // 355

	if temp.right != sentinel { // 357
		temp.right.parent = node // 358
	}

	temp.parent = node.parent // 361

	if node == *root { // 363
		*root = temp // 364

	} else if node == node.parent.right { // 366
		node.parent.right = temp // 367

	} else {
		node.parent.left = temp // 370
	}

	temp.right = node  // 373
	node.parent = temp // 374
}

// Min returns the leftmost node of the subtree at node, which is not empty.
// Mirrors ngx_rbtree_min.
//
//nginx:src/core/ngx_rbtree.h ngx_rbtree_min
func Min(node, sentinel *Node) *Node {
	for node.left != sentinel { // 79
		node = node.left // 80
	}

	return node // 83
}

// Next returns the node after node in key order, or nil. Mirrors
// ngx_rbtree_next.
//
//nginx:src/core/ngx_rbtree.c ngx_rbtree_next
func (tree *Tree) Next(node *Node) *Node {
	sentinel := tree.Sentinel // 383

	if node.right != sentinel { // 385
		return Min(node.right, sentinel) // 386
	}

	root := tree.Root // 389

	for { // 391
		parent := node.parent // 392

		if node == root { // 394
			return nil // 395
		}

		if node == parent.left { // 398
			return parent // 399
		}

		node = parent // 402
	}
}
