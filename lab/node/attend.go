package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
)

// attend records the machine's processes, keeps its cable out if it is cut
// off, and cuts its power when ctx ends. Power is the life of the machine's
// first process: with it the kernel kills all others.
func (m *Machine) attend(ctx, ended context.Context, nspawn int, groups cgroup.Groups) {
	id, err := process.Of(nspawn)
	if err != nil {
		return
	}
	leader, err := findLeader(ended, nspawn)
	if err == nil {
		err = errors.Join(process.Save(m.nspawnRecord(), id), process.Save(m.leaderRecord(), leader))
	}
	if err == nil && m.Partitioned() {
		err = network.DetachOnceThere(ended, m.Spec.Name)
	}
	if err != nil && ended.Err() == nil {
		fmt.Printf("--- %s: %v\n", m.Spec.Name, err)
		_ = id.Signal(unix.SIGKILL)
	}
	if err == nil {
		go thawAtEnd(ended, leader.PID, groups)
	}
	select {
	case <-ctx.Done():
		_ = leader.Signal(unix.SIGKILL)
	case <-ended.Done():
	}
}

// thawAtEnd thaws the machine's processes while its first one waits for the end of the
// others, which the kernel has killed: a frozen one would never end, nor would the machine.
func thawAtEnd(ended context.Context, leader int, groups cgroup.Groups) {
	for {
		select {
		case <-ended.Done():
			return
		case <-time.After(time.Second):
		}
		if !ending(leader) {
			continue
		}
		if err := groups.Thaw(); err != nil {
			fmt.Printf("--- thawing: %v\n", err)
		}
	}
}

// ending reports whether a process has begun to end, or has ended: it has no namespaces
// any more.
func ending(pid int) bool {
	_, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", "mnt"))
	return err != nil
}
