package guard

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func process() (string, error) {
	// The hard limit falls, too: without a privilege it cannot be raised again.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return "", fmt.Errorf("core files cannot be turned off: %w", err)
	}
	// A core_pattern that names a program does not look at the limit, but at this.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "", fmt.Errorf("tracing cannot be turned off: %w", err)
	}
	return "", nil
}

func lockMemory() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
		return fmt.Errorf("the limit of locked memory cannot be read: %w", err)
	}
	if l.Cur != l.Max {
		l.Cur = l.Max
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
			return fmt.Errorf("the limit of locked memory cannot be raised: %w", err)
		}
	}
	if l.Cur != unix.RLIM_INFINITY && !mayLock() {
		return fmt.Errorf("no more than %d bytes may be locked", l.Cur)
	}
	// Without MCL_ONFAULT the kernel would bring in all that is mapped, gigabytes of it, at once.
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("memory cannot be locked: %w", err)
	}
	return nil
}

// mayLock says whether the process has CAP_IPC_LOCK, for which there is no limit.
func mayLock() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // of capabilities 0 to 31, and above
	err := unix.Capget(&head, &sets[0])
	return err == nil && sets[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}
