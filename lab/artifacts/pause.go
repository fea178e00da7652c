package artifacts

import (
	"context"
	_ "embed"
)

//go:embed pause/main.go
var pauseMain string

// pause builds the program that holds a pod's namespaces, and returns its
// folder.
func (c *Cache) pause(ctx context.Context) (string, error) {
	return c.program(ctx, "pause", pauseMain)
}
