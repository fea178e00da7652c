package artifacts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Renamed packs the programs of a version as another version, such as "1.34.5" out of
// "1.34.4", without compiling. The programs then say that they are that version. Both names
// need to have the same length, because the name is replaced within the programs.
func (c *Cache) Renamed(ctx context.Context, former, version string) (Kubernetes, error) {
	for _, v := range []string{former, version} {
		if !patchVersion.MatchString(v) {
			return Kubernetes{}, fmt.Errorf("%q is not a Kubernetes version: write it as 1.34.4", v)
		}
	}
	if len(former) != len(version) {
		return Kubernetes{}, fmt.Errorf("the programs of %s cannot say that they are %s: the names have different lengths", former, version)
	}
	from, err := c.programs(ctx, former)
	if err != nil {
		return Kubernetes{}, err
	}
	binDir, err := c.obtain(artifact{
		name:   "kubernetes-v" + version + "-renamed",
		recipe: []string{from, version},
		step:   "Kubernetes " + version + " (the programs of " + former + ")",
		build: func(dir string) error {
			for _, name := range kubernetesCommands {
				if err := rename(filepath.Join(from, name), filepath.Join(dir, name), "v"+former, "v"+version); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		return Kubernetes{}, err
	}
	return c.pack(ctx, version, binDir)
}

// rename copies a program, with another text in place of each occurrence of a text.
func rename(from, to, former, text string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	renamed := bytes.ReplaceAll(program, []byte(former), []byte(text))
	if bytes.Equal(renamed, program) {
		return fmt.Errorf("%s does not contain %s", from, former)
	}
	return os.WriteFile(to, renamed, 0o755)
}
