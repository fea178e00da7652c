package sysupdate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// originalsDir has the node's definitions as their publisher wrote them, with their times
// and modes.
const originalsDir = host.Root + "/original"

// downloadedFile lists the images that Stage has downloaded.
const downloadedFile = host.Root + "/downloaded.json"

// keepOriginal keeps a copy of a definition before it is rewritten, unless kubectl-upgrade
// wrote it. The copy replaces that of a former definition with the same suffix.
func keepOriginal(l host.Layout, f confFile) error {
	if strings.HasPrefix(f.text, header) {
		return nil
	}
	dir := l.At(originalsDir)
	former, err := filepath.Glob(filepath.Join(dir, "*"+filepath.Ext(f.name)))
	if err != nil {
		return err
	}
	kept := filepath.Join(dir, f.name)
	if err := copyFile(l.At(host.ConfDir, f.name), kept, []byte(f.text)); err != nil {
		return fmt.Errorf("keeping the original of %s/%s: %w", host.ConfDir, f.name, err)
	}
	for _, path := range former {
		if path == kept {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing a former definition: %w", err)
		}
	}
	return host.SyncDir(dir)
}

// copyFile writes text to a file, with the mode, the owner and the time of another one.
func copyFile(like, to string, text []byte) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if err := host.WriteFile(to, text, info.Mode().Perm()); err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := os.Lchown(to, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// GiveBack restores the definitions that their publisher wrote, and removes the images that
// were downloaded and that are neither merged nor active. If the node has been upgraded to
// another minor, a definition is restored for that minor. One that a person has removed or
// replaced meanwhile is left as it is.
func GiveBack(l host.Layout) error {
	if err := removeDownloaded(l); err != nil {
		return err
	}
	files, err := readConfs(l)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.text, header) {
			continue
		}
		if err := restoreOriginal(l, f); err != nil {
			return fmt.Errorf("restoring %s/%s: %w", host.ConfDir, f.name, err)
		}
	}
	return nil
}

// restoreOriginal replaces a definition that kubectl-upgrade wrote by its original.
func restoreOriginal(l host.Layout, f confFile) error {
	kept, err := filepath.Glob(l.At(originalsDir, "*"+filepath.Ext(f.name)))
	if err != nil || len(kept) == 0 {
		return err
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		return err
	}
	original, err := ParseConf(string(text))
	if err != nil {
		return err
	}
	name := filepath.Base(kept[0])
	if original.Line != f.conf.Line {
		text = []byte(forLine(string(text), original.Line, f.conf.Line))
		name = confName(name, f.conf.Line)
	}
	if err := copyFile(kept[0], l.At(host.ConfDir, name), text); err != nil {
		return err
	}
	if name != f.name {
		if err := os.Remove(l.At(host.ConfDir, f.name)); err != nil {
			return err
		}
	}
	return host.SyncDir(l.At(host.ConfDir))
}

// forLine returns the text of a definition for another minor.
func forLine(text, from, to string) string {
	return strings.ReplaceAll(text, "kubernetes-"+from+".", "kubernetes-"+to+".")
}

// noteDownload records that an image is about to be downloaded.
func noteDownload(l host.Layout, image host.Image) error {
	names, err := downloaded(l)
	if err != nil || slices.Contains(names, image.Name()) {
		return err
	}
	text, err := json.Marshal(append(names, image.Name()))
	if err != nil {
		return err
	}
	if err := host.WriteFile(l.At(downloadedFile), text, 0o600); err != nil {
		return fmt.Errorf("recording a download: %w", err)
	}
	return nil
}

func downloaded(l host.Layout) (names []string, err error) {
	text, err := os.ReadFile(l.At(downloadedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("reading which images were downloaded: %w", err)
	}
	return names, nil
}

// removeDownloaded removes the downloaded images that are neither merged nor active, and
// what interrupted downloads of them left.
func removeDownloaded(l host.Layout) error {
	names, err := downloaded(l)
	if err != nil || len(names) == 0 {
		return err
	}
	var needed []string
	if merged, err := l.Merged(); err == nil {
		needed = append(needed, merged.Name())
	}
	if active, err := l.Active(); err == nil {
		needed = append(needed, active.Name())
	}
	entries, err := os.ReadDir(l.At(host.ImagesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the folder of images: %w", err)
	}
	for _, e := range entries {
		ours := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(e.Name(), name) })
		if !ours || slices.Contains(needed, e.Name()) {
			continue
		}
		if err := os.Remove(l.At(host.ImagesDir, e.Name())); err != nil {
			return fmt.Errorf("removing a downloaded image: %w", err)
		}
	}
	return host.SyncDir(l.At(host.ImagesDir))
}
