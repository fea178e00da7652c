package cli

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// attach follows the upgrade that asks for the same already: it is not asked for
// twice.
func (a *apply) attach(ctx context.Context, running *v1alpha1.ClusterUpgrade) error {
	fmt.Fprintf(a.ErrOut, "ClusterUpgrade %s asks for %s already.\n", running.Name, running.Spec.Version)
	if !a.forPeople() {
		return a.print(a.program, withKind(running))
	}
	if a.mode != dryRunNone {
		return nil
	}
	return a.follow(ctx, running.Name)
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
