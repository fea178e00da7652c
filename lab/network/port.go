package network

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Port is the machine's end of a node's cable, as systemd-nspawn names it.
func Port(node string) string { return "vb-" + node }

// Detach pulls a node's cable out of the bridge: it reaches no other
// node, and none reaches it. A node that is off has no cable, which is no error.
func Detach(ctx context.Context, node string) error {
	if !exists(Port(node)) {
		return nil
	}
	return ip(ctx, "link", "set", Port(node), "nomaster")
}

// Attach puts a node's cable back.
func Attach(ctx context.Context, node string) error {
	if !exists(Port(node)) {
		return nil
	}
	return ip(ctx, "link", "set", Port(node), "master", Bridge)
}

// DetachOnceThere waits for the cable of a node that is being started.
func DetachOnceThere(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(10*time.Second))
	defer cancel()
	for !exists(filepath.Join(Port(node), "master")) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s on the bridge: %w", Port(node), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return Detach(ctx, node)
}

func exists(device string) bool {
	_, err := os.Stat(filepath.Join("/sys/class/net", device))
	return err == nil
}
