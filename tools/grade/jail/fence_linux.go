package jail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights that landlock(7) has for changing files, by its version.
const (
	changing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	changingV2 = changing | unix.LANDLOCK_ACCESS_FS_REFER
	changingV3 = changingV2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// landlock returns the version that the kernel has; 0 is none.
func landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// fence has this thread, and what it becomes, change files in dir alone, and
// from Linux 6.12 on signal only what it starts. It holds for root too. A
// kernel without landlock (before 5.13) has no fence; there another user is
// what protects files.
func fence(dir string) error {
	version := landlock()
	if version == 0 {
		return nil
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: changing}
	if version >= 2 {
		rules.Handled_access_fs = changingV2
	}
	if version >= 3 {
		rules.Handled_access_fs = changingV3
	}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := allow(int(fd), dir, rules.Handled_access_fs); err != nil {
		return err
	}
	if err := allow(int(fd), "/dev/null", unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// allow adds the rights on path, and below it, to a set of rules.
func allow(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("landlock %s: %w", path, err)
	}
	defer unix.Close(fd)
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock %s: %w", path, errno)
	}
	return nil
}
