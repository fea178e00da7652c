package coordinator

import (
	"context"
	"net"
	"testing"
	"time"
)

// TestRedial checks that a connection is made as soon as someone listens, and is given up with its
// context.
func TestRedial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*dialPause)
	defer cancel()
	if _, err := redial(ctx, "tcp", address); err == nil {
		t.Fatal("connected to an address at which no program listens")
	}
	listens := make(chan net.Listener, 1)
	time.AfterFunc(2*dialPause, func() {
		again, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
		}
		listens <- again
	})
	conn, err := redial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if again := <-listens; again != nil {
		again.Close()
	}
}
