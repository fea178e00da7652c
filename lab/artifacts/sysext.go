package artifacts

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// tree is what a sysext holds. All its paths are relative.
type tree struct {
	// extension is the name under which the image has to be merged.
	extension string
	// copies maps paths in the image to files below a source folder.
	copies map[string]string
	// texts and scripts map paths in the image to what stands there. Scripts can be
	// run.
	texts, scripts map[string]string
	// release is the image's extension-release.
	release string
}

// extensionRelease lets any distribution merge the image.
var extensionRelease = releaseFor("_any")

// releaseFor lets one distribution merge the image on this machine's architecture, and
// has systemd read the units that came with it (systemd-sysext(8), os-release(5)).
func releaseFor(id string) string {
	return "ID=" + id + "\nARCHITECTURE=" + image.SystemdArchitecture(runtime.GOARCH) + "\nEXTENSION_RELOAD_MANAGER=1\n"
}

// upholds makes the system start a unit of a sysext: systemd plans the boot
// before sysexts are merged, so WantedBy= in the unit comes too late.
func upholds(unit string) string { return "[Unit]\nUpholds=" + unit + "\n" }

// recipe is all of the tree but the contents of what it copies.
func (t tree) recipe() []string {
	recipe := []string{t.extension, t.release}
	for _, files := range []map[string]string{t.copies, t.texts, t.scripts} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			recipe = append(recipe, name, files[name])
		}
	}
	return recipe
}

// squash writes the tree as a squashfs image. The same files give the same
// bytes. out's own folder serves as work space.
func (c *Cache) squash(ctx context.Context, t tree, from, out string) error {
	staging := out + ".tree"
	if err := t.write(from, staging); err != nil {
		return fmt.Errorf("laying out the sysext %s: %w", t.extension, err)
	}
	_, err := c.run(ctx, command{log: t.extension + "-sysext", args: []string{"mksquashfs", staging, out,
		"-quiet", "-no-progress", "-noappend", "-comp", "zstd", "-Xcompression-level", "6",
		"-all-root", "-no-xattrs", "-mkfs-time", "0", "-all-time", "0"}})
	if err != nil {
		return err
	}
	return os.RemoveAll(staging)
}

func (t tree) write(from, to string) error {
	for name, source := range t.copies {
		if err := copyFile(filepath.Join(from, source), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	texts := maps.Clone(t.texts)
	texts["usr/lib/extension-release.d/extension-release."+t.extension] = t.release
	if err := writeTexts(to, texts, 0o644); err != nil {
		return err
	}
	return writeTexts(to, t.scripts, 0o755)
}

func writeTexts(to string, texts map[string]string, mode os.FileMode) error {
	for name, text := range texts {
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies contents and mode, and makes the folder.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
