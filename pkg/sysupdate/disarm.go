package sysupdate

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// DisarmOutput says what was put right.
type DisarmOutput struct {
	// Notes are sentences, one for each thing that was changed.
	Notes []string `json:"notes,omitempty"`
}

// Disarm makes sure that nobody else's systemd-sysupdate, such as Flatcar's own
// timer, activates an image or deletes one that is needed. It is done as soon
// as an agent comes to a node: until then any reboot, for whatever reason, may
// start a kubelet that nobody released.
//
// Reason: ConfConflict.
func Disarm(l host.Layout) (*DisarmOutput, error) {
	notes, err := disarm(l)
	return &DisarmOutput{Notes: notes}, err
}

// Armed says whether Disarm has something to do. What cannot be understood is
// not armed: it is for a person to see to, and Confs says so.
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

// disarm keeps targets too.
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
	note, err := keepMerged(l)
	if note != "" {
		notes = append(notes, note)
	}
	return notes, err
}

// needed are the images that must stay: what runs, what the next boot merges,
// and what a guard would go back to. current is the one that runs.
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

// patchesOf are the patches of those images that are of a minor.
func patchesOf(line string, images []host.Image) []string {
	var patches []string
	for _, image := range images {
		if image.Kubernetes.Line() == line {
			patches = append(patches, patchOf(image.Kubernetes))
		}
	}
	return patches
}
