// Pause is the first process of every pod: it holds the pod's namespaces and
// collects orphaned children, until it is told to end.
//
// With -v it ends at once and well: kubeadm's preflight runs it so, as a Job
// that must complete.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("pause (lab)")
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for got := range signals {
		if got != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects all children that ended: signals may have merged into one.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
