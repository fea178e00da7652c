//go:build integration

package sysupdate

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// There is no systemd here: programs of images run unconfined. Package host tests that they
// are confined.
func init() {
	askImage = func(image *os.File) Ask {
		return func(ctx context.Context, program string, args ...string) (said string, err error) {
			dir, err := os.MkdirTemp("", "ask")
			if err != nil {
				return "", err
			}
			defer func() { err = errors.Join(err, os.Remove(dir)) }()
			if err := exec.CommandContext(ctx, "mount", "-o", "loop,ro", image.Name(), dir).Run(); err != nil {
				return "", err
			}
			defer func() { err = errors.Join(err, exec.CommandContext(ctx, "umount", dir).Run()) }()
			out, err := exec.CommandContext(ctx, filepath.Join(dir, program), args...).Output()
			return strings.TrimSpace(string(out)), err
		}
	}
}
