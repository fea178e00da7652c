package apitest

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Own is a server that no other test uses, for a test that measures it or restarts it.
type Own struct {
	// Config is that of a cluster administrator, and Etcd the address of etcd.
	Config *rest.Config
	Etcd   string
	server *server
}

// StartOwn starts a server with further flags of kube-apiserver. It ends with the test.
func StartOwn(t testing.TB, flags ...string) *Own {
	t.Helper()
	Path(t, "kube-apiserver")
	s, err := newServer(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return &Own{Config: rest.CopyConfig(s.config), Etcd: s.etcd, server: s}
}

// PID returns the process ID of etcd or kube-apiserver.
func (o *Own) PID(name string) int { return o.process(name).cmd.Process.Pid }

func (o *Own) process(name string) *process {
	for _, p := range o.server.processes {
		if p.name == name {
			return p
		}
	}
	panic("there is no " + name)
}

// Restart kills kube-apiserver, and starts it again at the same address after a pause. It
// returns when the new one is ready, and when that was started.
func (o *Own) Restart(pause time.Duration) (started time.Time, err error) {
	p := o.process("kube-apiserver")
	p.stop()
	time.Sleep(pause)
	started = time.Now()
	again, err := startProcess(o.server.folder, p.name, p.cmd.Args[1:]...)
	if err != nil {
		return started, fmt.Errorf("restarting %s: %w", p.name, err)
	}
	*p = *again
	return started, p.await(o.server.ready)
}
