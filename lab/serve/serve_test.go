package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestRunServesAllUntilTold(t *testing.T) {
	config := Config{StateDir: t.TempDir(), Images: freeAddress(t), Registry: freeAddress(t), Balancer: freeAddress(t)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, config) }()
	for _, url := range []string{"http://" + config.Images + "/SHA256SUMS", "http://" + config.Registry + "/v2/"} {
		eventually(t, url+" answers", func() bool {
			response, err := http.Get(url)
			if err != nil {
				return false
			}
			response.Body.Close()
			return response.StatusCode == http.StatusOK
		})
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it did not end")
	}
}

func TestRunSaysWhichAddressIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	images := freeAddress(t)
	err = Run(t.Context(), Config{StateDir: t.TempDir(), Images: images, Registry: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "registry") {
		t.Errorf("error is %v, want one that names the registry", err)
	}
	if again, err := net.Listen("tcp", images); err != nil {
		t.Errorf("the image server's address is still taken: %v", err)
	} else {
		again.Close()
	}
}
