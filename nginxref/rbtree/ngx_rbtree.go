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

// Init makes tree empty, ordered by i; s becomes its sentinel. Mirrors
// ngx_rbtree_init.
func (tree *Tree) Init(s *Node, i InsertFunc) {
	s.red = false // a sentinel must be black
	tree.Root = s
	tree.Sentinel = s
	tree.insert = i
}

// Data returns the structure whose Node field is node; offset is that
// field's unsafe.Offsetof. Mirrors ngx_rbtree_data.
func Data[T any](node *Node, offset uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(node), -int(offset)))
}

// Insert adds node by its Key. Mirrors ngx_rbtree_insert.
func (tree *Tree) Insert(node *Node) {
	// A binary tree insert.

	root := &tree.Root
	sentinel := tree.Sentinel

	if *root == sentinel {
		node.parent = nil
		node.left = sentinel
		node.right = sentinel
		node.red = false
		*root = node

		return
	}

	tree.insert(*root, node, sentinel)

	// Rebalance: node is red, and so may be its parent. A red uncle lets the
	// grandparent take the red on, two levels up; a black one takes at most
	// two rotations and ends the loop.

	for node != *root && node.parent.red {

		if node.parent == node.parent.parent.left {
			temp := node.parent.parent.right

			if temp.red {
				node.parent.red = false
				temp.red = false
				node.parent.parent.red = true
				node = node.parent.parent

			} else {
				if node == node.parent.right {
					node = node.parent
					leftRotate(root, sentinel, node)
				}

				node.parent.red = false
				node.parent.parent.red = true
				rightRotate(root, sentinel, node.parent.parent)
			}

		} else {
			temp := node.parent.parent.left

			if temp.red {
				node.parent.red = false
				temp.red = false
				node.parent.parent.red = true
				node = node.parent.parent

			} else {
				if node == node.parent.left {
					node = node.parent
					rightRotate(root, sentinel, node)
				}

				node.parent.red = false
				node.parent.parent.red = true
				leftRotate(root, sentinel, node.parent.parent)
			}
		}
	}

	(*root).red = false
}

// InsertValue orders nodes by plain comparison of their keys. Mirrors
// ngx_rbtree_insert_value.
func InsertValue(temp, node, sentinel *Node) {
	var p **Node

	for {

		if node.Key < temp.Key {
			p = &temp.left
		} else {
			p = &temp.right
		}

		if *p == sentinel {
			break
		}

		temp = *p
	}

	*p = node
	node.parent = temp
	node.left = sentinel
	node.right = sentinel
	node.red = true
}

// InsertTimerValue orders nodes by the sign of the difference of their keys.
// A clock in milliseconds wraps (a 32-bit one after 49 days) and timers lie
// close together, so a key that is small because it wrapped still sorts
// after the large ones before it. Mirrors ngx_rbtree_insert_timer_value.
func InsertTimerValue(temp, node, sentinel *Node) {
	var p **Node

	for {

		if KeyInt(node.Key-temp.Key) < 0 {
			p = &temp.left
		} else {
			p = &temp.right
		}

		if *p == sentinel {
			break
		}

		temp = *p
	}

	*p = node
	node.parent = temp
	node.left = sentinel
	node.right = sentinel
	node.red = true
}

// Delete takes node out of tree. node's links and Key are cleared, so a
// second Delete panics. Mirrors ngx_rbtree_delete.
func (tree *Tree) Delete(node *Node) {
	var subst, temp, w *Node

	// A binary tree delete. subst is the node that leaves its place, temp
	// the child that takes it; temp may be the sentinel, whose parent is
	// then set and used below.

	root := &tree.Root
	sentinel := tree.Sentinel

	if node.left == sentinel {
		temp = node.right
		subst = node

	} else if node.right == sentinel {
		temp = node.left
		subst = node

	} else {
		subst = Min(node.right, sentinel)
		temp = subst.right
	}

	if subst == *root {
		*root = temp
		temp.red = false

		node.left = nil
		node.right = nil
		node.parent = nil
		node.Key = 0

		return
	}

	red := subst.red

	if subst == subst.parent.left {
		subst.parent.left = temp

	} else {
		subst.parent.right = temp
	}

	if subst == node {

		temp.parent = subst.parent

	} else {

		if subst.parent == node {
			temp.parent = subst

		} else {
			temp.parent = subst.parent
		}

		subst.left = node.left
		subst.right = node.right
		subst.parent = node.parent
		subst.red = node.red

		if node == *root {
			*root = subst

		} else {
			if node == node.parent.left {
				node.parent.left = subst
			} else {
				node.parent.right = subst
			}
		}

		if subst.left != sentinel {
			subst.left.parent = subst
		}

		if subst.right != sentinel {
			subst.right.parent = subst
		}
	}

	node.left = nil
	node.right = nil
	node.parent = nil
	node.Key = 0

	if red {
		return
	}

	// A delete fixup: the paths through temp are one black node short. A red
	// temp is painted black; else its sibling w pays, by turning red or by
	// rotations, or the debt moves up to the parent.

	for temp != *root && !temp.red {

		if temp == temp.parent.left {
			w = temp.parent.right

			if w.red {
				w.red = false
				temp.parent.red = true
				leftRotate(root, sentinel, temp.parent)
				w = temp.parent.right
			}

			if !w.left.red && !w.right.red {
				w.red = true
				temp = temp.parent

			} else {
				if !w.right.red {
					w.left.red = false
					w.red = true
					rightRotate(root, sentinel, w)
					w = temp.parent.right
				}

				w.red = temp.parent.red
				temp.parent.red = false
				w.right.red = false
				leftRotate(root, sentinel, temp.parent)
				temp = *root
			}

		} else {
			w = temp.parent.left

			if w.red {
				w.red = false
				temp.parent.red = true
				rightRotate(root, sentinel, temp.parent)
				w = temp.parent.left
			}

			if !w.left.red && !w.right.red {
				w.red = true
				temp = temp.parent

			} else {
				if !w.left.red {
					w.right.red = false
					w.red = true
					leftRotate(root, sentinel, w)
					w = temp.parent.left
				}

				w.red = temp.parent.red
				temp.parent.red = false
				w.left.red = false
				rightRotate(root, sentinel, temp.parent)
				temp = *root
			}
		}
	}

	temp.red = false
}

// leftRotate lifts node's right child into node's place. Mirrors
// ngx_rbtree_left_rotate.
func leftRotate(root **Node, sentinel, node *Node) {
	temp := node.right
	node.right = temp.left

	if temp.left != sentinel {
		temp.left.parent = node
	}

	temp.parent = node.parent

	if node == *root {
		*root = temp

	} else if node == node.parent.left {
		node.parent.left = temp

	} else {
		node.parent.right = temp
	}

	temp.left = node
	node.parent = temp
}

// rightRotate lifts node's left child into node's place. Mirrors
// ngx_rbtree_right_rotate.
func rightRotate(root **Node, sentinel, node *Node) {
	temp := node.left
	node.left = temp.right

	if temp.right != sentinel {
		temp.right.parent = node
	}

	temp.parent = node.parent

	if node == *root {
		*root = temp

	} else if node == node.parent.right {
		node.parent.right = temp

	} else {
		node.parent.left = temp
	}

	temp.right = node
	node.parent = temp
}

// Min returns the leftmost node of the subtree at node, which is not empty.
// Mirrors ngx_rbtree_min.
func Min(node, sentinel *Node) *Node {
	for node.left != sentinel {
		node = node.left
	}

	return node
}

// Next returns the node after node in key order, or nil. Mirrors
// ngx_rbtree_next.
func (tree *Tree) Next(node *Node) *Node {
	sentinel := tree.Sentinel

	if node.right != sentinel {
		return Min(node.right, sentinel)
	}

	root := tree.Root

	for {
		parent := node.parent

		if node == root {
			return nil
		}

		if node == parent.left {
			return parent
		}

		node = parent
	}
}
