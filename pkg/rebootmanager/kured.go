package rebootmanager

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// kuredLock is the annotation of kured's lock. While a node holds the lock, it is on a
// DaemonSet: kured's own, unless --ds-name and --ds-namespace name another. The flag, or
// the variable, may configure another annotation.
// https://github.com/kubereboot/kured/blob/main/pkg/daemonsetlock/daemonsetlock.go
// https://github.com/kubereboot/kured/blob/main/cmd/kured/main.go
const (
	kuredLock     = "weave.works/kured-node-lock"
	kuredLockFlag = "--lock-annotation"
	// KuredLockVariable is exported for packages that keep only part of a DaemonSet.
	KuredLockVariable = "KURED_LOCK_ANNOTATION"
)

// kuredLocks returns the annotations that may be kured's lock, on any DaemonSet.
func kuredLocks(daemonSets []*appsv1.DaemonSet) []string {
	locks := []string{kuredLock}
	for _, d := range daemonSets {
		for _, own := range OwnLocks(d) {
			if own != "" && !slices.Contains(locks, own) {
				locks = append(locks, own)
			}
		}
	}
	return locks
}

// OwnLocks returns the annotations that this DaemonSet may be configured to lock with. Where
// flag and variable differ both count: before kured 1.17 the flag prevails, since then the
// variable.
func OwnLocks(d *appsv1.DaemonSet) (configured []string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, variable := range c.Env {
			if variable.Name == KuredLockVariable {
				configured = append(configured, variable.Value)
			}
		}
		args := slices.Concat(c.Command, c.Args)
		for i, arg := range args {
			if value, is := strings.CutPrefix(arg, kuredLockFlag+"="); is {
				configured = append(configured, value)
			}
			if arg == kuredLockFlag && i+1 < len(args) {
				configured = append(configured, args[i+1])
			}
		}
	}
	return configured
}

// Kured returns the DaemonSets that are kured's.
func Kured(daemonSets []*appsv1.DaemonSet) []*appsv1.DaemonSet {
	return slices.DeleteFunc(slices.Clone(daemonSets), func(d *appsv1.DaemonSet) bool { return !isKured(d) })
}

// KuredHolder returns who holds kured's lock, on any of these DaemonSets.
func KuredHolder(daemonSets []*appsv1.DaemonSet) (by string, held bool) {
	for _, d := range daemonSets {
		for _, lock := range kuredLocks(daemonSets) {
			if by, _, held := lockHolders(d.Annotations[lock]); held {
				return by, true
			}
		}
	}
	return "", false
}

// isKured reports whether the DaemonSet is kured's: it has the lock, a flag or variable
// that configures one, or kured's image.
func isKured(d *appsv1.DaemonSet) bool {
	if _, locks := d.Annotations[kuredLock]; locks || len(OwnLocks(d)) > 0 {
		return true
	}
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		image, _, _ := strings.Cut(path.Base(c.Image), ":")
		name, _, _ := strings.Cut(image, "@")
		return name == "kured"
	})
}

// lockHolders parses kured's lock: one holder, or with --concurrency a list of them, which
// may be empty. A lock that cannot be parsed counts as held, and so does one that has
// expired: its node may still reboot. nodes are the holders' names, if they are known.
func lockHolders(value string) (by string, nodes []string, held bool) {
	if value == "" {
		return "", nil, false
	}
	type lock struct {
		NodeID string `json:"nodeID"`
	}
	var read struct {
		lock
		MaxOwners *int   `json:"maxOwners"`
		Locks     []lock `json:"locks"`
	}
	if err := json.Unmarshal([]byte(value), &read); err != nil {
		return "an unknown node (the lock cannot be parsed)", nil, true
	}
	unnamed := false
	for _, one := range append(read.Locks, read.lock) {
		if one.NodeID != "" {
			nodes = append(nodes, one.NodeID)
		}
	}
	for _, one := range read.Locks {
		unnamed = unnamed || one.NodeID == ""
	}
	switch {
	case unnamed:
		return "an unknown node (a lock names none)", nil, true
	case len(nodes) > 0:
		return "node " + strings.Join(nodes, ", "), nodes, true
	case read.MaxOwners != nil:
		return "", nil, false
	}
	return "an unknown node (the lock names none)", nil, true
}
