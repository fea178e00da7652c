package facts

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pluginsDir is where a kubelet finds the sockets of plugins, such as CSI drivers (cmd/kubelet/app/server.go,
	// getPluginsRegistrationDir).
	pluginsDir = "/var/lib/kubelet/plugins_registry"
	// pluginAnswers is how long a program may take to accept a connection.
	pluginAnswers = time.Second
	// maxPlugins is how many are looked at.
	maxPlugins = 64
)

// plugins returns the names of the plugins at whose sockets a program listens. A socket stays over a reboot, and so does the
// driver in the node's CSINode, until the program has started again. node-driver-registrar names its socket NAME-reg.sock.
func (g *gatherer) plugins(ctx context.Context) (names []string) {
	sockets := g.matching(pluginsDir, "*.sock")
	for _, path := range sockets[:min(len(sockets), maxPlugins)] {
		if g.answers(ctx, path) {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".sock"), "-reg"))
		}
	}
	return names
}

func (g *gatherer) answers(ctx context.Context, socket string) bool {
	connection, err := (&net.Dialer{Timeout: pluginAnswers}).DialContext(ctx, "unix", g.At(socket))
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
