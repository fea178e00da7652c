package scenario

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Automatic returns the part of the UpgradePolicy that makes upgrades of a type
// automatic. Install sets the rest.
func Automatic(upgrade v1alpha1.UpgradeType) string {
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: %s}
spec:
  automatic: [{type: %s}]
`, v1alpha1.PolicyName, upgrade)
}

// applyPolicy applies the file with a mode by server-side apply, as the coordinator may have
// created the object meanwhile. The field manager is the lab's own, so that the
// fields stay when a story applies spec.automatic.
func (l Lab) applyPolicy(ctx context.Context, file string, mode v1alpha1.ManagementMode) error {
	const crd = "crd/upgradepolicies.kubectl-upgrade.dev"
	if _, err := l.Kube(ctx, "wait", "--for", "condition=Established", crd, "--timeout", timelimit.Scale(time.Minute).String()); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	policy := strings.ReplaceAll(string(text), "mode: "+string(v1alpha1.ModeManage), "mode: "+string(mode))
	return l.apply(ctx, policy, "--field-manager", "lab")
}
