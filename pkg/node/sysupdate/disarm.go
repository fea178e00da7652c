package sysupdate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// DisarmOutput is the output of Disarm.
type DisarmOutput struct {
	// Notes are sentences, one for each thing that was changed.
	Notes []string `json:"notes,omitempty"`
}

// Disarm keeps the images that the node needs where other runs of systemd-sysupdate, such as
// those of Flatcar's timer, do not delete them. It changes the node's definitions so that
// such runs activate no image, and reverts an activation that has already happened, also if
// the definitions are not valid. The agent runs it as soon as it is on a node: until then any
// reboot may start a kubelet that was not released.
//
// Reason: ConfConflict.
func Disarm(l host.Layout) (*DisarmOutput, error) {
	notes, err := disarm(l)
	return &DisarmOutput{Notes: notes}, err
}

// Armed reports whether Disarm has something to do. Definitions that are not valid do not
// count: a person has to correct them, and Confs returns the error.
func Armed(l host.Layout) bool {
	pending, err := l.ActivationPending()
	if err != nil || pending {
		return false
	}
	current, err := running(l)
	if err != nil {
		return false
	}
	if files, err := readConfs(l); err == nil {
		for _, f := range files {
			if f.conf.Line != current.Kubernetes.Line() || f.conf.Render() != f.text {
				return true
			}
		}
	}
	if images, err := unkept(l); err != nil || len(images) > 0 {
		return err == nil
	}
	to, _, err := rightTarget(l)
	if err != nil || !isFile(l.At(to.Path())) {
		return false
	}
	before, after, err := targets(l, to.Path())
	return err == nil && before != after
}

// disarm does what Disarm does. The symlink is corrected in any case; without valid
// definitions another run may move it again.
func disarm(l host.Layout) (notes []string, err error) {
	pending, err := l.ActivationPending()
	if err != nil || pending {
		return nil, err
	}
	current, err := running(l)
	if err != nil {
		return nil, err
	}
	if err := keepNeeded(l); err != nil {
		return nil, err
	}
	files, err := readConfs(l)
	if err == nil {
		_, notes, err = setConfs(l, files, current.Kubernetes.Line())
	}
	note, linkErr := correctLink(l)
	if note != "" {
		notes = append(notes, note)
	}
	return notes, errors.Join(err, linkErr)
}

// originalsDir has the node's definitions as their publisher wrote them, with their times
// and modes.
const originalsDir = host.Root + "/original"

// keepOriginal keeps a copy of a definition before it is rewritten, unless kubectl-upgrade
// wrote it. The copy replaces that of a former definition with the same suffix.
func keepOriginal(l host.Layout, f confFile) error {
	if strings.HasPrefix(f.text, written) {
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

// GiveBack puts the merged and the active image back where their publisher puts them, removes
// all others that were kept, and restores the definitions that their publisher wrote. If the
// node has been upgraded to another minor, a definition is restored for that minor. One that a
// person has removed or replaced meanwhile is left as it is, also if it is not valid.
func GiveBack(l host.Layout) error {
	if err := giveBackImages(l); err != nil {
		return err
	}
	files, err := readConfs(l)
	if err != nil && host.ReasonOf(err, "") != v1alpha1.ReasonConfConflict {
		return err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.text, written) {
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
