package cli_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// TestFleetApply checks that an upgrade is created in the cluster that answers, and followed to its end; that
// a second address of the cluster gets none of its own; and that the one that does not answer is named.
func TestFleetApply(t *testing.T) {
	for outcome, code := range map[v1alpha1.Outcome]int{v1alpha1.OutcomeSucceeded: 5, v1alpha1.OutcomeFailed: 3} {
		t.Run(string(outcome), func(t *testing.T) {
			c, config, args := minorCluster(t)
			names, proxies := proxied(t, config, 3, 0, func(i int) bool { return i == 2 })
			kubeconfig := fleetKubeconfig(t, config, names, proxies)
			args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--yes" })
			w := &watched{code: make(chan int, 1)}
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.errOut}
			args = append(append([]string{"fleet"}, args...), "--yes", "--contexts", "prod-*", "--cluster-timeout", "10s", "--kubeconfig="+kubeconfig)
			go func() { w.code <- cli.Run(context.Background(), args, streams, "test") }()
			w.out.await(t, "prod-000: clusterupgrade.kubectl-upgrade.dev/v1.35.4 created\n")
			w.out.await(t, "Z prod-000 Waiting v1.34.4, upgrade v1.35.4")
			c.writeOrders()
			c.trigger()
			c.end(outcome)
			w.exit(t, code)
			out, errOut := w.out.text(), w.errOut.text()
			for _, want := range []string{"prod-001   v1.34.4   Nothing   -", "SameCluster: the cluster of prod-000", "prod-002   -         Unknown", "Of 2 clusters 1 gets an upgrade, 1 did not answer.\n"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s\nhas no %q", out, want)
				}
			}
			want := "Left out: prod-002.\n"
			if !strings.Contains(errOut, want) || strings.Count(out, "created\n") != 1 {
				t.Errorf("%s%s\nhas no %q, or more than one upgrade", out, errOut, want)
			}
			if code == 3 && !strings.Contains(errOut, "error: prod-000: ClusterUpgrade v1.35.4 ended: Failed") {
				t.Errorf("got %s", errOut)
			}
		})
	}
}
