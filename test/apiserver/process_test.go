package apiserver

import "testing"

// TestFreePort checks that a port is given away once, although nothing listens on it yet.
func TestFreePort(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := give(port); err == nil {
		t.Errorf("port %s is given away twice", port)
	}
}
