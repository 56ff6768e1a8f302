// Package guard answers: who else on this machine can read the memory of this process, where its keys lie open?
//
// On Linux, Process turns two readers away. A crash writes no core file, and a process of the same user without privileges can
// neither attach to this one (ptrace, and so gdb, strace, delve) nor read /proc/PID/mem or /proc/PID/environ, where the
// variables stand with which the process was started. LockMemory keeps memory from being written to swap.
//
// What it does not do: root, or whoever holds CAP_SYS_PTRACE, reads on; so do the host of a virtual machine, hibernation, and a
// debugger that was there first. A child process is not guarded, but for the limit of core files, which it inherits. What a
// process says of itself, such as the stack traces of SIGQUIT, is as before. On other systems nothing is done, and said so.
package guard

import "trustnode/node/fault"

// Process turns core files and tracing off, for good and for the whole process. It is to be called first of all, and may
// be called again. The note says what this system does not offer, as a sentence without full stop; on Linux it is empty. On an
// error the process is guarded in part or not at all; its code is unavailable.
func Process() (note string, err error) {
	note, err = process()
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "guard", err).WithHint("a filter of system calls around this process forbids setrlimit or prctl; allow them")
	}
	return note, nil
}

// LockMemory keeps all memory of the process, present and future, out of swap: pages are locked as they are first used, those of
// files that are mapped into memory, as databases do, among them. So the machine needs memory for all of it. A node maps far more
// than it uses, and all that is mapped counts against RLIMIT_MEMLOCK; therefore a limit is refused before it can make the
// node fail later. The error has the code unavailable and a hint; on other systems than Linux there is always one.
func LockMemory() error {
	err := lockMemory()
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, "lock_memory", err).
		WithHint("start the node without a limit of locked memory (RLIMIT_MEMLOCK: LimitMEMLOCK=infinity for systemd, ulimit -l unlimited for a shell) or with CAP_IPC_LOCK, or leave --lock-memory out and encrypt the swap")
}
