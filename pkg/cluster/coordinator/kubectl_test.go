package coordinator_test

import (
	"bytes"
	"regexp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestKubectlWaitsAndDescribes checks that `kubectl wait` ends when an upgrade has succeeded, and
// that `kubectl describe` shows the upgrade's events.
func TestKubectlWaitsAndDescribes(t *testing.T) {
	c := newCluster(t, "cp1")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startCoordinator("one")
	c.eventually(func() string {
		if _, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	wait := apitest.Kubectl(t, c.config, "wait", "--for=condition=Succeeded", "clusterupgrade/v1.34.4", "--timeout=60s")
	var said bytes.Buffer
	wait.Stdout, wait.Stderr = &said, &said
	c.must(wait.Start())
	c.startAgent("cp1")
	if err := wait.Wait(); err != nil || said.String() != "clusterupgrade.kubectl-upgrade.dev/v1.34.4 condition met\n" {
		t.Fatalf("kubectl wait: %v\n%s", err, &said)
	}
	if outcome := c.upgrade("v1.34.4").Status.Outcome; outcome != v1alpha1.OutcomeSucceeded {
		t.Errorf("kubectl wait ended with the outcome %q", outcome)
	}

	c.awaitEvents("v1.34.4", "Created", "Triggered", "Finished")
	out, err := apitest.Kubectl(t, c.config, "describe", "kucu", "v1.34.4").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`Outcome: +Succeeded\n`,
		`Events:\n +Type +Reason +Age +From +Message\n`,
		`\n +Normal +Created +\S+ +\S+ +v1.34.4 is available, and the UpgradePolicy asks for patches\n`,
		`\n +Normal +Triggered `,
		`\n +Normal +Finished `,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("kubectl describe has no %q:\n%s", want, out)
		}
	}
}
