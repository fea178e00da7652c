package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/request"
)

// confirm asks a person whether to begin. It returns nil for a yes, or with --yes.
func (a *apply) confirm(ctx context.Context, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	if a.yes {
		return nil
	}
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return errors.New("nothing was changed: confirmation is needed and there is no terminal; add --yes")
	}
	fmt.Fprintf(a.ErrOut, "Upgrade %s to %s? [y/N] ", nodesToGo(decided), u.Spec.Version)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is a no
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.ErrOut, "\nNothing was changed.")
		return ctx.Err()
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("nothing was changed")
	}
}

// nodesToGo returns how many nodes are to be upgraded, such as "3 nodes".
func nodesToGo(decided plan.Plan) string {
	count := 0
	for _, n := range decided.Nodes {
		if request.IsToGo(n) {
			count++
		}
	}
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}
