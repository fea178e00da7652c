package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// confirm asks a person whether to begin. It returns nil for a yes, or with --yes.
func (a *apply) confirm(ctx context.Context, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	if a.yes {
		return nil
	}
	nodes := nodesToGo(decided, "node") + a.ofCluster()
	question := fmt.Sprintf("Upgrade %s to %s?", nodes, u.Spec.Version)
	switch a.request.Type {
	case v1alpha1.TypeRollback:
		question = fmt.Sprintf("Take %s back to %s?", nodes, u.Spec.Version)
	case v1alpha1.TypeReboot:
		question = fmt.Sprintf("Reboot %s?", nodes)
	case v1alpha1.TypeCertificates:
		question = fmt.Sprintf("Renew the certificates of %s?", nodesToGo(decided, "control plane")+a.ofCluster())
	}
	return a.question(ctx, question, "nothing was changed")
}

// question asks a question on the terminal. It returns nil for a yes, and otherwise an error
// that says what was not done.
func (p *program) question(ctx context.Context, question, undone string) error {
	in, ok := p.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return fmt.Errorf("%s: confirmation is needed and there is no terminal; add --yes", undone)
	}
	fmt.Fprintf(p.ErrOut, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		line, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is a no
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			fmt.Fprintln(p.ErrOut)
			return fmt.Errorf("%s: nobody has answered", undone)
		}
		fmt.Fprintf(p.ErrOut, "\n%s%s.\n", strings.ToUpper(undone[:1]), undone[1:])
		return ctx.Err()
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New(undone)
	}
}

// nodesToGo returns how many nodes are to be upgraded, such as "3 nodes".
func nodesToGo(decided plan.Plan, noun string) string {
	count := 0
	for _, n := range decided.Nodes {
		if request.IsToGo(n) {
			count++
		}
	}
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
