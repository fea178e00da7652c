package facts

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestPlugins checks that only those plugins are found whose program listens: a socket stays when it has ended.
func TestPlugins(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "plugins") // the path of a socket has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	l := host.Layout{Dir: root}
	if err := os.MkdirAll(l.At(pluginsDir), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"csi.example.com-reg.sock", "gone.example.com-reg.sock", "other.sock"} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", l.At(filepath.Join(pluginsDir, name)))
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		if name == "gone.example.com-reg.sock" {
			_ = listener.Close()
		} else {
			t.Cleanup(func() { _ = listener.Close() })
		}
	}
	g := newGatherer(l, nil)
	if got := g.plugins(t.Context()); !slices.Equal(got, []string{"csi.example.com", "other"}) {
		t.Errorf("got %v", got)
	}
}
