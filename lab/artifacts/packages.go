package artifacts

import (
	"context"
	"path/filepath"
	"strings"
)

// Packages unpacks Debian packages with those that they need, for programs that no node of the lab has, and returns the folder.
func (c *Cache) Packages(ctx context.Context, base Base, packages ...string) (string, error) {
	names := strings.Join(packages, "-")
	dir, err := c.obtain(artifact{
		name:   "packages-" + names + "-" + base.String(),
		recipe: packages,
		step:   names + " (Debian " + base.String() + ")",
		build: func(dir string) error {
			return c.debian(ctx, "packages", "extract", base, packages, filepath.Join(dir, "root"))
		},
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "root"), nil
}
