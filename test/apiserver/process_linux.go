package apiserver

import "syscall"

// dieWithParent has the kernel end the program when the program that starts it is killed,
// as by a timeout.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
