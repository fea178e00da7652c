package host

import (
	"bufio"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// silentBus accepts connections, authenticates them if told to, and then never
// answers.
func silentBus(t *testing.T, letsIn bool) (address string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if letsIn {
				go authenticate(conn)
			}
		}
	}()
	return "unix:path=" + path
}

func authenticate(conn net.Conn) {
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			return
		case strings.Contains(line, "AUTH EXTERNAL"):
			_, _ = conn.Write([]byte("OK 0123456789abcdef0123456789abcdef\r\n"))
		case strings.Contains(line, "AUTH"):
			_, _ = conn.Write([]byte("REJECTED EXTERNAL\r\n"))
		}
	}
}

// TestSilentBusIsAnError checks that a bus which does not answer is an error within the
// timeout: otherwise the agent, which reads the host in each reconcile, would hang silently.
func TestSilentBusIsAnError(t *testing.T) {
	for name, letsIn := range map[string]bool{"from the beginning": false, "once it let us in": true} {
		t.Run(name, func(t *testing.T) {
			c := NewClient(t.TempDir(), silentBus(t, letsIn), nil)
			c.timeout = 100 * time.Millisecond
			t.Cleanup(func() { _ = c.Close() })
			done := make(chan error, 1)
			go func() {
				_, _, err := c.Last(t.Context(), verb.Facts)
				if _, subscribes := c.Changes(t.Context()); subscribes == nil {
					err = nil
				}
				done <- err
			}()
			select {
			case err := <-done:
				var failure *Failure
				if !errors.As(err, &failure) || failure.Reason != v1alpha1.ReasonHostUnreachable {
					t.Errorf("error %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the call did not time out")
			}
		})
	}
}
