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
// and an unlocker decrements only a Wait above 0, so that a post never lifts
// Sem.Value above the P of that moment: the number of processes bounds it. A
// process that dies inside its wait stays in P and costs one post.
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
func (mtx *Atomic) Create(addr *Shared) core.Status {
	mtx.lock = &addr.Lock

	if mtx.Spin == NoSpin {
		return core.OK
	}

	mtx.Spin = 2048

	mtx.wait = &addr.Wait
	mtx.sem = &addr.Sem

	return core.OK
}

// Destroy gives up the semaphore: Lock then yields instead of sleeping.
// Mirrors ngx_shmtx_destroy.
func (mtx *Atomic) Destroy() {
	mtx.sem = nil // sem_destroy: a futex word owns nothing
}

// Trylock takes the lock if it is free and reports whether it did. The plain
// read first spares a taken lock the cost of a failed compare-and-set, which
// would pull the cache line away from the holder. Mirrors ngx_shmtx_trylock.
func (mtx *Atomic) Trylock() bool {
	return mtx.Kernel.AtomicLoad(mtx.lock) == 0 &&
		mtx.Kernel.AtomicCmpSet(mtx.lock, 0, uint64(mtx.Kernel.Getpid()))
}

// Lock waits until it has the lock: it tries, spins (2047 pauses in all, with
// a try after 1, 2, 4, ... 1024 of them), then sleeps until an unlocker posts,
// and starts again. A woken process has no claim: it may lose to one that has
// just come. Mirrors ngx_shmtx_lock.
func (mtx *Atomic) Lock() {
	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx lock")

	for {

		if mtx.Trylock() {
			return
		}

		if mtx.Ncpu > 1 {

			for n := uint(1); n < mtx.Spin; n <<= 1 {

				for range n {
					mtx.Kernel.CPUPause()
				}

				if mtx.Trylock() {
					return
				}
			}
		}

		if mtx.sem != nil {
			mtx.Kernel.AtomicFetchAdd(mtx.wait, 1)

			// The holder may have unlocked between the last try and the
			// increment. It saw no waiter and will not post, so this try
			// must come before the sleep.
			if mtx.Trylock() {
				// The increment is taken back, or unlockers would go on
				// posting for nobody until the semaphore overflowed. If one
				// has already used it up and posted, Wait is now -1 and the
				// post is left over; the next process that waits lifts Wait
				// to 0, consumes that post and makes one extra turn here.
				mtx.Kernel.AtomicFetchAdd(mtx.wait, -1)
				return
			}

			mtx.Log.Debug(core.LogDebugCore, 0,
				"shmtx wait %d", mtx.Kernel.AtomicLoad(mtx.wait))

			for {
				err := mtx.sem.wait(mtx.Kernel)
				if err == 0 {
					break
				}

				if err != sys.EINTR {
					mtx.Log.Error(core.LogAlert, err,
						"sem_wait() failed while waiting on shmtx")
					break
				}
			}

			mtx.Log.Debug(core.LogDebugCore, 0, "shmtx awoke")

			continue
		}

		mtx.Kernel.SchedYield()
	}
}

// Unlock frees the lock and wakes one waiter; it does nothing if another
// process holds the lock. What must be cleared is the shared word: nginx 0.3.3
// cleared its own pointer to it, and the first holder kept the lock for ever.
// Mirrors ngx_shmtx_unlock.
func (mtx *Atomic) Unlock() {
	if mtx.Spin != NoSpin {
		mtx.Log.Debug(core.LogDebugCore, 0, "shmtx unlock")
	}

	if mtx.Kernel.AtomicCmpSet(mtx.lock, uint64(mtx.Kernel.Getpid()), 0) {
		mtx.wakeup()
	}
}

// ForceUnlock frees the lock and wakes one waiter if pid holds it, and reports
// whether it did. It cannot help a process that was woken and died before it
// took the lock: the lock is free then, and the other sleepers wait for the
// next Unlock. Mirrors ngx_shmtx_force_unlock.
func (mtx *Atomic) ForceUnlock(pid int) bool {
	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx forced unlock")

	if mtx.Kernel.AtomicCmpSet(mtx.lock, uint64(pid), 0) {
		mtx.wakeup()
		return true
	}

	return false
}

// wakeup posts the semaphore once for one waiter, if there is one. The
// decrement is the unlocker's, not the woken process's: two unlocks in a row
// then wake two waiters and not the same one twice. Mirrors ngx_shmtx_wakeup.
func (mtx *Atomic) wakeup() {
	var wait uint64

	if mtx.sem == nil {
		return
	}

	for {

		wait = mtx.Kernel.AtomicLoad(mtx.wait)

		if int64(wait) <= 0 {
			return
		}

		if mtx.Kernel.AtomicCmpSet(mtx.wait, wait, wait-1) {
			break
		}
	}

	mtx.Log.Debug(core.LogDebugCore, 0, "shmtx wake %d", wait)

	if err := mtx.sem.post(mtx.Kernel); err != 0 {
		mtx.Log.Error(core.LogAlert, err, "sem_post() failed while wake shmtx")
	}
}
