package shmtx

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// NoSpin as Atomic.Spin makes a mutex without a semaphore, one that is only
// tried: nginx's accept mutex. Lock on it would spin longer and longer and
// never sleep; nginx never calls it.
const NoSpin = ^uint(0)

// Shared is the part of an Atomic that lives in shared memory
// (ngx_shmtx_sh_t). Fresh shared memory, all zeros, is a free mutex.
//
// The lock word:
//
//	value  meaning   legal moves
//	0      free      -> pid of any process   its Trylock or Lock
//	pid    pid's     -> 0                    pid's own Unlock
//	                 -> 0                    ForceUnlock(pid), by the master
//	                                         when it has reaped pid
//
// Each move is a compare-and-set on the value before. An Unlock by anyone else
// therefore does nothing, and a dead holder can be told from a living one
// (nginx lost that when it stopped storing the pid: a crash froze the
// listeners).
//
// The waiters. Let P be how many processes are between their increment of
// Wait and the end of that wait (the semaphore, or the increment taken back),
// and U how many unlockers are between their decrement and their post. Then,
// at every moment,
//
//	Wait + Sem.Value + U = P
//
// and an unlocker decrements only a Wait above 0, so that Sem.Value + U is at
// most the P of that moment: the number of processes bounds it. A process that
// dies inside its wait stays in P and costs one post. One that dies between its
// decrement and its post stays in U, and one waiter is never woken.
type Shared struct {
	Lock sys.Atomic // pid of the holder, or 0
	Wait sys.Atomic // processes owed a post; signed: -n with n posts left over
	Sem  Semaphore  // posts not yet consumed
}

// Atomic is one process's handle on a mutex in shared memory (ngx_shmtx_t):
// it spins, then sleeps on a semaphore. Set the exported fields, then call
// Create.
type Atomic struct {
	Kernel sys.Kernel
	Log    *core.Log
	Ncpu   int  // processors online; with one, spinning is useless (ngx_ncpu)
	Spin   uint // pauses of the last round, or NoSpin; Create sets the rest

	lock *sys.Atomic
	wait *sys.Atomic
	sem  *Semaphore // nil: no semaphore
}

var _ Mutex = (*Atomic)(nil)

// Create binds mtx to addr. Every process of the group calls it. Mirrors
// ngx_shmtx_create.
//
// DIVERGES: there is no sem_init, because zeros are a semaphore of value 0. A
// worker that comes late therefore does not wipe the posts of the others;
// nginx's workers inherit the initialised one by fork.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_create
//nginx:omit 33-35 a futex word needs no sem_init
func (mtx *Atomic) Create(addr *Shared) core.Status {
	mtx.lock = &addr.Lock // 21

	if mtx.Spin == NoSpin { // 23
		return core.OK // 24
	}

	mtx.Spin = 2048 // 27

	mtx.wait = &addr.Wait // 31
	mtx.sem = &addr.Sem   // 37

	return core.OK // 42
}

// Destroy gives up the semaphore: Lock then yields instead of sleeping.
// Mirrors ngx_shmtx_destroy.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_destroy
func (mtx *Atomic) Destroy() {
	mtx.sem = nil // 51-54 DIVERGES: no sem_destroy, a futex word owns nothing
}

// Trylock takes the lock if it is free and reports whether it did. The plain
// read first spares a taken lock the cost of a failed compare-and-set, which
// would pull the cache line away from the holder. Mirrors ngx_shmtx_trylock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_trylock
func (mtx *Atomic) Trylock() bool {
	return mtx.Kernel.AtomicLoad(mtx.lock) == 0 &&
		mtx.Kernel.AtomicCmpSet(mtx.lock, 0, uint64(mtx.Kernel.Getpid())) // 65
}

// Lock waits until it has the lock: it tries, spins (2047 pauses in all, with
// a try after 1, 2, 4, ... 1024 of them), then sleeps until an unlocker posts,
// and starts again. A woken process has no claim: it may lose to one that has
// just come. Mirrors ngx_shmtx_lock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_lock
//nginx:omit 114 the call returns the errno
func (mtx *Atomic) Lock() {
	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx lock") // 74

	for { // 76

		if mtx.Trylock() { // 78
			return // 79
		}

		if mtx.Ncpu > 1 { // 82

			for n := uint(1); n < mtx.Spin; n <<= 1 { // 84

				for range n { // 86
					mtx.Kernel.CPUPause() // 87
				}

				if mtx.Trylock() { // 90
					return // 93
				}
			}
		}

		if mtx.sem != nil { // 100
			mtx.Kernel.AtomicFetchAdd(mtx.wait, 1) // 101

			// The holder may have unlocked between the last try and the
			// increment. It saw no waiter and will not post, so this try
			// must come before the sleep.
			if mtx.Trylock() { // 103
				// The increment is taken back, or unlockers would go on
				// posting for nobody until the semaphore overflowed. If one
				// has already used it up and posted, Wait is now -1 and the
				// post is left over; the next process that waits lifts Wait
				// to 0, consumes that post and makes one extra turn here.
				mtx.Kernel.AtomicFetchAdd(mtx.wait, -1) // 104
				return                                  // 105
			}

			mtx.Log.Debug(core.LogDebugCore, 0,
				"shmtx wait %d", mtx.Kernel.AtomicLoad(mtx.wait)) // 108

			for { // 111
				err := mtx.sem.Wait(mtx.Kernel) // 111
				if err == 0 {                   // 111
					break // 111
				}

				if err != sys.EINTR { // 116
					mtx.Log.Error(core.LogAlert, err,
						"sem_wait() failed while waiting on shmtx") // 117
					break // 119
				}
			}

			mtx.Log.Debug(core.LogDebugCore, 0, "shmtx awoke") // 123

			continue // 126
		}

		mtx.Kernel.SchedYield() // 131
	}
}

// Unlock frees the lock and wakes one waiter; it does nothing if another
// process holds the lock. What must be cleared is the shared word: nginx 0.3.3
// cleared its own pointer to it, and the first holder kept the lock for ever.
// Mirrors ngx_shmtx_unlock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_unlock
func (mtx *Atomic) Unlock() {
	if mtx.Spin != NoSpin { // 139
		mtx.Log.Debug(core.LogDebugCore, 0, "shmtx unlock") // 140
	}

	if mtx.Kernel.AtomicCmpSet(mtx.lock, uint64(mtx.Kernel.Getpid()), 0) { // 143
		mtx.wakeup() // 144
	}
}

// ForceUnlock frees the lock and wakes one waiter if pid holds it, and reports
// whether it did. It cannot help where a process died that was woken and had
// not yet taken the lock: the lock is free then, and the other sleepers wait
// for the next Unlock. Mirrors ngx_shmtx_force_unlock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_force_unlock
func (mtx *Atomic) ForceUnlock(pid int) bool {
	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx forced unlock") // 152

	if mtx.Kernel.AtomicCmpSet(mtx.lock, uint64(pid), 0) { // 155
		mtx.wakeup() // 156
		return true  // 157
	}

	return false // 160
}

// wakeup posts the semaphore once for one waiter, if there is one. The
// decrement is the unlocker's, not the woken process's: two unlocks in a row
// then do not post twice for one waiter. Mirrors ngx_shmtx_wakeup.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_wakeup
func (mtx *Atomic) wakeup() {
	var wait uint64

	if mtx.sem == nil { // 170
		return // 171
	}

	for { // 174

		wait = mtx.Kernel.AtomicLoad(mtx.wait) // 176

		if int64(wait) <= 0 { // 178
			return // 179
		}

		if mtx.Kernel.AtomicCmpSet(mtx.wait, wait, wait-1) { // 182
			break // 183
		}
	}

	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx wake %d", wait) // 187

	if err := mtx.sem.Post(mtx.Kernel); err != 0 { // 190
		mtx.Log.Error(core.LogAlert, err, "sem_post() failed while wake shmtx") // 191
	}
}
