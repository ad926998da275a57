//go:build linux

package shmtx

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shm is memory shared between processes (ngx_shm_t), all zeros at first.
type Shm struct {
	Name string // in messages and /proc/PID/maps; empty in a child
	Addr []byte // the mapping, page aligned; other processes write to it
	Fd   int    // close-on-exec: pass it on by number to the workers
}

// Alloc makes a zone of size bytes. Mirrors ngx_shm_alloc.
//
// DIVERGES: nginx's anonymous mapping is inherited by fork. A worker here is a
// new program and maps a descriptor, of a file that exists in memory only.
//
//nginx:src/os/unix/ngx_shmem.c ngx_shm_alloc
func Alloc(name string, size int) (*Shm, error) {
	// DIVERGES: see above.
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("shared zone %q: memfd_create: %w", name, err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("shared zone %q: %d bytes: %w", name, size, err)
	}
	return mapZone(name, fd, size)
}

// Attach maps the zone behind the inherited descriptor fd, in a worker. The
// zone owns fd from then on.
func Attach(fd, size int) (*Shm, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("shared zone on descriptor %d: %w", fd, err)
	}
	// The kernel would map too small a file all the same, and kill the process
	// (SIGBUS) at the first touch behind its end.
	if st.Size < int64(size) {
		return nil, fmt.Errorf("shared zone on descriptor %d: it holds %d bytes, not %d",
			fd, st.Size, size)
	}
	unix.CloseOnExec(fd)
	return mapZone("", fd, size)
}

// mapZone maps the first size bytes of fd; on failure it closes fd.
//
//nginx:src/os/unix/ngx_shmem.c ngx_shm_alloc
func mapZone(name string, fd, size int) (*Shm, error) {
	addr, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED) // 17
	if err != nil {                                                                      // 21
		// DIVERGES: nginx has no descriptor.
		unix.Close(fd)
		return nil, fmt.Errorf("shared zone %q: mmap of %d bytes: %w", name, size, err) // 22-24
	}
	return &Shm{Name: name, Addr: addr, Fd: fd}, nil // 27
}

// Free unmaps the zone and closes its descriptor; the memory goes when the
// last process has done so. Mirrors ngx_shm_free.
//
//nginx:src/os/unix/ngx_shmem.c ngx_shm_free
func (shm *Shm) Free() error {
	if err := unix.Munmap(shm.Addr); err != nil { // 34
		return fmt.Errorf("shared zone %q: munmap: %w", shm.Name, err) // 35
	}
	// DIVERGES: nginx has no descriptor, and forgets the address with shm.
	shm.Addr = nil
	return unix.Close(shm.Fd)
}
