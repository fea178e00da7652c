package sysupdate

import (
	"errors"

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
