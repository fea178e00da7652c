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
	return c.obtain(artifact{
		name:   "pause",
		recipe: append([]string{pauseMain}, goEnv...),
		step:   "pause (compiling)",
		build: func(dir string) error {
			module := goModule{cache: c, name: "pause"}
			if err := module.prepare(ctx, map[string]string{"main.go": pauseMain}, nil, nil); err != nil {
				return err
			}
			return module.build(ctx, dir, "-s -w", ".")
		},
	})
}
