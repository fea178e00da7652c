//go:build integration

package sysupdate_test

import (
	"context"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestEndlessDownload checks that a server which sends more than it announced, or announces no
// length, does not fill the disk of the kubelet and its pods.
func TestEndlessDownload(t *testing.T) {
	for name, row := range map[string]struct {
		said  int
		least int64 // MiB that stay free at any time
		want  string
	}{
		"no length":        {0, 30, "is longer than 95 MiB"},
		"longer than said": {5 << 20, 120, "is longer than 5 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, "v1.34.3", "v1.34.4")
			p.endless, p.said = true, row.said
			newNode(t, p.url)
			if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", host.ImagesDir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", host.ImagesDir).Run() })
			install(t, "v1.34.3", "v1.34.3")
			least := watchFree(t)
			_, err := stage(t, p, "v1.34.4", "v1.34.4")
			wantReason(t, err, v1alpha1.ReasonDiskFull)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
			if free := least(); free < row.least<<20 {
				t.Errorf("only %d MiB were left free, want %d at any time", free>>20, row.least)
			}
			wantNode(t, "v1.34.3", "v1.34.3")
		})
	}
}

// watchFree returns a function that returns the least free space since the call.
func watchFree(t *testing.T) func() int64 {
	var least atomic.Int64
	least.Store(1 << 62)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if free, err := host.OnNode.FreeBytes(host.ImagesDir); err == nil {
				least.Store(min(least.Load(), free))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return func() int64 {
		cancel()
		<-done
		return least.Load()
	}
}
