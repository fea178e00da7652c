package sysupdate

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// DisarmOutput is the output of Disarm.
type DisarmOutput struct {
	// Notes are sentences, one for each thing that was changed.
	Notes []string `json:"notes,omitempty"`
}

// Disarm changes the node's definitions so that other runs of systemd-sysupdate, such
// as those of Flatcar's timer, neither activate an image nor delete one that is needed,
// and reverts an activation that has already happened. The agent runs it as soon as it
// is on a node: until then any reboot may start a kubelet that was not released.
//
// Reason: ConfConflict.
func Disarm(l host.Layout) (*DisarmOutput, error) {
	notes, err := disarm(l)
	return &DisarmOutput{Notes: notes}, err
}

// Armed reports whether Disarm has something to do. It returns false if the
// definitions are not valid: a person has to correct them, and Confs returns the error.
func Armed(l host.Layout) bool {
	files, err := readConfs(l)
	pending, pendingErr := l.ActivationPending()
	current, runningErr := running(l)
	if err != nil || pendingErr != nil || pending || runningErr != nil {
		return false
	}
	for _, f := range files {
		if f.conf.Line != current.Kubernetes.Line() || f.conf.Render() != f.text || !slices.Contains(f.conf.Protect, patchOf(current.Kubernetes)) {
			return true
		}
	}
	active, err := l.Active()
	return err == nil && current.Kubernetes.Less(active.Kubernetes) && isFile(l.At(current.Path()))
}

// disarm does what Disarm does, and protects targets too.
func disarm(l host.Layout, targets ...host.Image) (notes []string, err error) {
	pending, err := l.ActivationPending()
	if err != nil {
		return nil, err
	}
	files, err := readConfs(l)
	if err != nil || pending {
		return nil, err
	}
	current, needed, err := needed(l)
	if err != nil {
		return nil, err
	}
	line := current.Kubernetes.Line()
	_, notes, err = setConfs(l, files, line, patchesOf(line, append(needed, targets...)))
	if err != nil {
		return notes, err
	}
	note, err := revertActivation(l)
	if note != "" {
		notes = append(notes, note)
	}
	return notes, err
}

// needed returns the images that must stay on the disk: the running one, which is also
// returned as current, the active one, and the one that a rollback would return to.
func needed(l host.Layout) (current host.Image, images []host.Image, err error) {
	active, err := l.Active()
	if err != nil {
		return host.Image{}, nil, err
	}
	if current, err = running(l); err != nil {
		return host.Image{}, nil, err
	}
	images = []host.Image{current, active}
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return current, images, err
	}
	if from, err := host.NewImage(guard.From, host.Architecture()); err == nil {
		images = append(images, from)
	}
	return current, images, nil
}

// patchesOf returns the patches of the images that are of a minor.
func patchesOf(line string, images []host.Image) []string {
	var patches []string
	for _, image := range images {
		if image.Kubernetes.Line() == line {
			patches = append(patches, patchOf(image.Kubernetes))
		}
	}
	return patches
}
