package cli

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// attach follows the upgrade that asks for the same already: it is not asked for
// twice.
func (a *apply) attach(ctx context.Context, running *v1alpha1.ClusterUpgrade, upgrades []v1alpha1.ClusterUpgrade) error {
	fmt.Fprintf(a.ErrOut, "ClusterUpgrade %s asks for %s already.%s\n", running.Name, running.Spec.Version, held(running, upgrades))
	if !a.forPeople() {
		return a.print(a.program, withKind(running))
	}
	if a.mode != dryRunNone {
		return nil
	}
	return a.follow(ctx, running.Name)
}

// held says what an upgrade waits for until a person acts, or another one ends.
func held(u *v1alpha1.ClusterUpgrade, upgrades []v1alpha1.ClusterUpgrade) (sentences string) {
	if u.Spec.Suspend {
		sentences = fmt.Sprintf(" It is suspended: `kubectl upgrade resume %s` lets it go on.", u.Name)
	}
	if first := active(upgrades)[0]; first.Name != u.Name && !stepsAside(first) {
		sentences += fmt.Sprintf(" It waits until ClusterUpgrade %s has ended.", first.Name)
	}
	return sentences
}

func (a *apply) follow(ctx context.Context, name string) error {
	if a.detach {
		fmt.Fprintf(a.ErrOut, "Not followed: `kubectl upgrade status -w` does, `kubectl upgrade suspend %s` stops it before the next node.\n", name)
		return nil
	}
	reader, err := a.reader()
	if err != nil {
		return err
	}
	first, err := reader.read(ctx)
	if err != nil {
		return err
	}
	f := following{program: a.program, timeout: a.timeout, upgrade: name, other: func(objects) (string, bool, error) { return "", false, nil }}
	return f.follow(ctx, reader, first)
}
