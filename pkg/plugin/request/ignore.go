package request

import (
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Ignored is what an upgrade that exists is to ignore, too.
type Ignored struct {
	Checks  []v1alpha1.IgnoredCheck
	Gates   []v1alpha1.IgnoredGate
	Windows bool
}

// Ignores returns what the request asks to ignore, and the upgrade does not ignore yet.
func (r Upgrade) Ignores(u *v1alpha1.ClusterUpgrade) (more Ignored) {
	for _, c := range r.IgnoreChecks {
		if !u.Spec.Ignores(c.ID) {
			more.Checks = append(more.Checks, c)
		}
	}
	for _, g := range r.IgnoreGates {
		if !u.Spec.IgnoresGate(g.Name) {
			more.Gates = append(more.Gates, g)
		}
	}
	more.Windows = r.IgnoreWindows && !u.Spec.IgnoresWindows()
	return more
}

// IsNone reports whether there is nothing to ignore.
func (i Ignored) IsNone() bool { return len(i.Checks) == 0 && len(i.Gates) == 0 && !i.Windows }

// String names what is ignored, such as "the gate alerts and maintenance windows".
func (i Ignored) String() string {
	var parts []string
	for _, g := range i.Gates {
		parts = append(parts, "the gate "+g.Name)
	}
	for _, c := range i.Checks {
		parts = append(parts, "the check "+c.ID)
	}
	if i.Windows {
		parts = append(parts, "maintenance windows")
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
}

// Flags returns the flags that ask for it.
func (i Ignored) Flags() (flags []string) {
	for flag, given := range map[string]bool{"--ignore-check": len(i.Checks) > 0, "--ignore-gate": len(i.Gates) > 0, "--ignore-windows": i.Windows} {
		if given {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	return flags
}

// AddTo has the upgrade ignore it, in the name of the user, and returns the fields of its spec that
// this changes. What it ignored before keeps the name of who let it be ignored.
func (i Ignored) AddTo(u *v1alpha1.ClusterUpgrade, user string) map[string]any {
	fields := map[string]any{}
	for _, c := range i.Checks {
		if !u.Spec.Ignores(c.ID) {
			c.By = user
			u.Spec.IgnoreChecks = append(u.Spec.IgnoreChecks, c)
			fields["ignoreChecks"] = u.Spec.IgnoreChecks
		}
	}
	for _, g := range i.Gates {
		if !u.Spec.IgnoresGate(g.Name) {
			g.By = user
			u.Spec.IgnoreGates = append(u.Spec.IgnoreGates, g)
			fields["ignoreGates"] = u.Spec.IgnoreGates
		}
	}
	if i.Windows && !u.Spec.IgnoresWindows() {
		u.Spec.WindowPolicy = v1alpha1.WindowPolicyIgnore
		fields["windowPolicy"] = u.Spec.WindowPolicy
	}
	return fields
}
