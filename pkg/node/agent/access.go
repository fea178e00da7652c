package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/access"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// ownAccess is how the kubelet of the node reaches the API server. An agent begins again when that has changed.
type ownAccess struct {
	*access.Access
	file, node string
}

// readAccess reads the kubeconfig of the node's kubelet, and checks whose identity it has.
func readAccess(file, node string) (*ownAccess, error) {
	read, err := access.Read(host.Layout{}, file, node)
	if err != nil {
		return nil, err
	}
	return &ownAccess{Access: read, file: file, node: node}, nil
}

const (
	// accessEvery is how often the files are looked at.
	accessEvery = 30 * time.Second
	// reachedWithin is how long the API server may take to answer, if that decides.
	reachedWithin = 10 * time.Second
)

// watch looks at the files until ctx ends. It returns why the agent cannot go on as it began, once two looks in a
// row have found that: a file may be half written. answers reports whether the API server answers the agent.
func (a *ownAccess) watch(ctx context.Context, answers func(context.Context) bool) error {
	for found := 0; ; {
		sleep(ctx, accessEvery)
		err := a.check(ctx, answers)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			found = 0
			continue
		}
		if found++; found == 2 {
			return err
		}
	}
}

// check looks at the files. client-go reads the certificate again by itself when it rotates. A file that was
// replaced by another one of its name remains the former one in a pod that mounts it, so what is in the new one
// is not known before the container begins again. As it may have been deleted, and the container's runtime would
// make a folder there, that is done only when the former one is of no use.
func (a *ownAccess) check(ctx context.Context, answers func(context.Context) bool) error {
	now, err := readAccess(a.file, a.node)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(now.Text, a.Text):
		return fmt.Errorf("%s was changed: the agent begins again with it", a.file)
	case !isReplaced(a.file):
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachedWithin)
	defer cancel()
	if answers(ctx) {
		return nil
	}
	return fmt.Errorf("%s was replaced on the host, and the API server does not answer at %s, which the former one named: the agent begins again with the new one",
		a.file, a.Config.Host)
}

// isReplaced reports whether the file has no name any more.
func isReplaced(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && stat.Nlink == 0
}
