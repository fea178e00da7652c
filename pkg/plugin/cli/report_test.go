package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestReportFollows checks that the file of a report is rewritten while the upgrade runs, and
// has the end when the command ends.
func TestReportFollows(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	for _, end := range []struct {
		outcome v1alpha1.Outcome
		code    int
	}{{v1alpha1.OutcomeSucceeded, 0}, {v1alpha1.OutcomeRolledBack, 3}} {
		t.Run(string(end.outcome), func(t *testing.T) {
			c := newCluster(t, config)
			c.addNode("cp-1", true)
			c.addNode("w-1", false)
			applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: "+after+"}\nspec: {version: "+after+"}")
			c.writeOrders()
			c.trigger()
			file := filepath.Join(t.TempDir(), "report.html")
			w := &watched{code: make(chan int, 1)}
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.errOut}
			args := []string{"report", after, "--output-file", file, "--follow", "--kubeconfig=" + apitest.Kubeconfig(t, config)}
			go func() { w.code <- cli.Run(context.Background(), args, streams, "test") }()
			w.errOut.await(t, "until the upgrade has ended")
			awaitFile(t, file, "In progress")
			c.setStep("w-1", v1alpha1.StepDraining, v1alpha1.ReasonDrainBlocked, "pod shop/cart-0 cannot be evicted")
			awaitFile(t, file, "pod shop/cart-0 cannot be evicted")
			c.end(end.outcome)
			w.exit(t, end.code)
			if text := awaitFile(t, file, ""); strings.Contains(text, "In progress") {
				t.Error("the file does not have the end")
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
			if len(left) > 0 || err != nil {
				t.Errorf("files are left behind: %v %v", left, err)
			}
		})
	}
}

func awaitFile(t *testing.T, file, words string) string {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), words) {
			return string(text)
		}
		if time.Now().After(limit) {
			t.Fatalf("waiting for %q in %s: %v", words, file, err)
		}
	}
}
