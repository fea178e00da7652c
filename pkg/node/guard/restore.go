package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// restoreFiles restores definitions and the kubelet's files, and reports whether one
// differed. It has kubeadm run again in the next attempt, as what it wrote is gone.
func (g *guardian) restoreFiles() (changed bool, err error) {
	files := map[string][]byte{}
	for name, text := range g.record.Restore.Confs {
		files[filepath.Join(host.ConfDir, name)] = []byte(text)
	}
	var problems []error
	for path, saved := range g.record.Restore.Files {
		if files[path], err = os.ReadFile(g.At(saved)); err != nil {
			delete(files, path)
			problems = append(problems, fmt.Errorf("reading the saved %s: %w", path, err))
		}
	}
	for path, data := range files {
		restored, err := g.restoreFile(path, data)
		changed = changed || restored
		problems = append(problems, err)
	}
	return changed, errors.Join(append(problems, g.removeNewConfs(), g.ForgetKubeadm())...)
}

// restoreFile restores a file if it differs, and reports whether it did. The mode and a
// symlink stay, and what is replaced is kept in replacedDir.
func (g *guardian) restoreFile(path string, data []byte) (changed bool, err error) {
	target, mode := g.At(path), fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	present, err := os.ReadFile(target)
	if err == nil && string(present) == string(data) {
		return false, nil
	}
	if info, statErr := os.Stat(target); err == nil && statErr == nil {
		mode = info.Mode().Perm()
		if err := host.WriteFile(g.At(replacedDir, filepath.Base(path)), present, 0o600); err != nil {
			g.log.Printf("keeping the present %s: %v", path, err)
		}
	}
	if err := host.WriteFile(target, data, mode); err != nil {
		return false, fmt.Errorf("restoring %s: %w", path, err)
	}
	g.log.Printf("restored %s", path)
	return true, nil
}

// replacedDir has the files that the last rollback replaced: a person may have changed
// them after the activation.
var replacedDir = filepath.Join(host.StateDir(host.Root), "replaced")

// removeNewConfs removes the definitions that the activation renamed: those that it
// restored have the former names, and there must not be two.
func (g *guardian) removeNewConfs() error {
	to, err := version.Parse(g.record.To)
	if err != nil || len(g.record.Restore.Confs) == 0 {
		return err
	}
	var problems []error
	for _, ext := range []string{".conf", ".transfer"} {
		name := "kubernetes-" + to.Line() + ext
		if _, former := g.record.Restore.Confs[name]; former {
			continue
		}
		if err := os.Remove(g.At(host.ConfDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("removing a definition of %s: %w", g.record.To, err))
		}
	}
	return errors.Join(problems...)
}

// restoreLink points the symlink to the former image, and reports whether it pointed
// elsewhere.
func (g *guardian) restoreLink() (changed bool, err error) {
	link, want := g.At(g.record.Restore.Link), g.record.Restore.LinkTarget
	if target, err := os.Readlink(link); err == nil && target == want {
		return false, nil
	}
	if err := renameio.Symlink(want, link); err != nil {
		return false, fmt.Errorf("pointing %s to %s: %w", g.record.Restore.Link, want, err)
	}
	g.log.Printf("%s points to %s again", g.record.Restore.Link, want)
	return true, host.SyncDir(filepath.Dir(link))
}
