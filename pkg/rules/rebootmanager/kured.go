package rebootmanager

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// kuredLock is the annotation of kured's lock. While a node holds the lock, it is on kured's
// own DaemonSet, unless --ds-name and --ds-namespace name another. The flag, or the variable,
// may configure another annotation.
// https://github.com/kubereboot/kured/blob/main/pkg/daemonsetlock/daemonsetlock.go
// https://github.com/kubereboot/kured/blob/main/cmd/kured/main.go
const (
	kuredLock         = "weave.works/kured-node-lock"
	kuredLockFlag     = "lock-annotation"
	kuredNameFlag     = "ds-name"
	kuredSpaceFlag    = "ds-namespace"
	kuredDefaultName  = "kured"
	kuredDefaultSpace = "kube-system"
	kuredPrefix       = "KURED_"
)

// IsVariable reports whether kured's lock depends on the variable of that name. It is exported
// for packages that keep only part of a DaemonSet.
func IsVariable(name string) bool {
	return slices.ContainsFunc([]string{kuredLockFlag, kuredNameFlag, kuredSpaceFlag}, func(flag string) bool { return name == variableOf(flag) })
}

// variableOf returns kured's variable for a flag, as KURED_DS_NAME.
func variableOf(flag string) string {
	return kuredPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settings returns the values that a DaemonSet's containers give to a flag of kured. Where flag
// and variable differ both count: before kured 1.17 the flag prevails, since then the variable.
func settings(d *appsv1.DaemonSet, flag string) (values []string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, variable := range c.Env {
			if variable.Name == variableOf(flag) && variable.Value != "" {
				values = append(values, variable.Value)
			}
		}
		args := slices.Concat(c.Command, c.Args)
		for i, arg := range args {
			if value, is := strings.CutPrefix(arg, "--"+flag+"="); is && value != "" {
				values = append(values, value)
			}
			if arg == "--"+flag && i+1 < len(args) {
				values = append(values, args[i+1])
			}
		}
	}
	return values
}

// Kured returns the DaemonSets that are kured's: those that the UpgradePolicy names, and those
// that look like kured and may reach their nodes.
func Kured(daemonSets []*appsv1.DaemonSet, named []v1alpha1.DaemonSetReference) []*appsv1.DaemonSet {
	return slices.DeleteFunc(slices.Clone(daemonSets), func(d *appsv1.DaemonSet) bool {
		return !isNamed(d, named) && (!looksLikeKured(d) || !reachesHost(d.Spec.Template.Spec))
	})
}

// LikeKured returns the DaemonSets that look like kured.
func LikeKured(daemonSets []*appsv1.DaemonSet) []*appsv1.DaemonSet {
	return slices.DeleteFunc(slices.Clone(daemonSets), func(d *appsv1.DaemonSet) bool { return !looksLikeKured(d) })
}

// looksLikeKured reports whether the DaemonSet has kured's lock, a setting of it, its image or
// its program. Any client that may create a DaemonSet can make one that does.
func looksLikeKured(d *appsv1.DaemonSet) bool {
	if _, locks := d.Annotations[kuredLock]; locks || len(settings(d, kuredLockFlag)) > 0 {
		return true
	}
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, IsKured)
}

// IsKured reports whether the container runs kured, by its image, its program, or the setting
// of its lock.
func IsKured(c corev1.Container) bool {
	image, _, _ := strings.Cut(path.Base(c.Image), ":")
	name, _, _ := strings.Cut(image, "@")
	program := slices.Concat(c.Command, c.Args)
	alone := &appsv1.DaemonSet{}
	alone.Spec.Template.Spec.Containers = []corev1.Container{c}
	return name == "kured" || len(program) > 0 && path.Base(program[0]) == "kured" || len(settings(alone, kuredLockFlag)) > 0
}

// lock is kured's lock on one DaemonSet.
type lock struct {
	on         *appsv1.DaemonSet
	annotation string
	by         string
	nodes      []string   // its holders, if they are known
	since      *time.Time // nil: that is not known
}

// locksOf returns the locks that the DaemonSet of kured holds: on itself, and on the one that
// its settings name.
func locksOf(kured *appsv1.DaemonSet, daemonSets []*appsv1.DaemonSet) (locks []lock) {
	annotations := append(settings(kured, kuredLockFlag), kuredLock)
	spaces, names := append(settings(kured, kuredSpaceFlag), kuredDefaultSpace), append(settings(kured, kuredNameFlag), kuredDefaultName)
	for _, d := range daemonSets {
		if d != kured && (!slices.Contains(spaces, d.Namespace) || !slices.Contains(names, d.Name)) {
			continue
		}
		for _, annotation := range slices.Compact(slices.Sorted(slices.Values(annotations))) {
			if by, nodes, since, held := lockHolders(d.Annotations[annotation]); held {
				locks = append(locks, lock{d, annotation, by, nodes, since})
			}
		}
	}
	return locks
}

// KuredHolder returns who holds kured's lock, whether kured runs at the moment or not.
func KuredHolder(daemonSets []*appsv1.DaemonSet, named []v1alpha1.DaemonSetReference) (by string, held bool) {
	for _, kured := range Kured(daemonSets, named) {
		for _, lock := range locksOf(kured, daemonSets) {
			return lock.by, true
		}
	}
	return "", false
}

// lockHolders parses kured's lock: one holder, or with --concurrency a list of them, which
// may be empty. A lock that cannot be parsed counts as held, and so does one that has
// expired: its node may still reboot. nodes are the holders' names, and since is when the
// first of them took it, if that is known.
func lockHolders(value string) (by string, nodes []string, since *time.Time, held bool) {
	if value == "" {
		return "", nil, nil, false
	}
	type holder struct {
		NodeID  string    `json:"nodeID"`
		Created time.Time `json:"created"`
	}
	var read struct {
		holder
		MaxOwners *int     `json:"maxOwners"`
		Locks     []holder `json:"locks"`
	}
	if err := json.Unmarshal([]byte(value), &read); err != nil {
		return "an unknown node (the lock cannot be parsed)", nil, nil, true
	}
	unnamed := false
	for _, one := range append(read.Locks, read.holder) {
		if one.NodeID != "" {
			nodes = append(nodes, one.NodeID)
			if !one.Created.IsZero() && (since == nil || one.Created.Before(*since)) {
				since = &one.Created
			}
		}
	}
	for _, one := range read.Locks {
		unnamed = unnamed || one.NodeID == ""
	}
	switch {
	case unnamed:
		return "an unknown node (a lock names none)", nil, nil, true
	case len(nodes) > 0:
		return "node " + strings.Join(nodes, ", "), nodes, since, true
	case read.MaxOwners != nil:
		return "", nil, nil, false
	}
	return "an unknown node (the lock names none)", nil, nil, true
}
