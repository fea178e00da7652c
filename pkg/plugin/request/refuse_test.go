package request

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestHintNamesChecksToIgnore checks that the hint names all checks which must be ignored, if
// they can be.
func TestHintNamesChecksToIgnore(t *testing.T) {
	wanted := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.35.4", IgnoreChecks: ignoring("fluo")}}
	retry := wanted.DeepCopy()
	retry.Spec.RetryOf = &v1alpha1.RetriedUpgrade{Name: "v1.35.4"}
	block := func(id string) v1alpha1.Finding {
		return v1alpha1.Finding{ID: id, Level: v1alpha1.LevelBlock, Message: "Something is wrong."}
	}
	for name, test := range map[string]struct {
		wanted   *v1alpha1.ClusterUpgrade
		findings []v1alpha1.Finding
		hint     string
	}{
		"one":              {wanted, []v1alpha1.Finding{block("etcd-quorum")}, "--ignore-check fluo,etcd-quorum=REASON`"},
		"one, and another": {wanted, []v1alpha1.Finding{block("etcd-quorum"), block("disk-room")}, "--ignore-check fluo,etcd-quorum,disk-room=REASON`"},
		"a retry":          {retry, []v1alpha1.Finding{block("etcd-quorum")}, "apply v1.35.4 --retry --ignore-check fluo,etcd-quorum=REASON`"},
		"in vain":          {wanted, []v1alpha1.Finding{block("etcd-quorum"), block("image-not-offered")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := refuseFindings(test.findings, test.wanted)
			if err == nil {
				t.Fatal("a blocking finding is not refused")
			}
			if got := err.Error(); !strings.Contains(got, test.hint) || test.hint == "" && strings.Contains(got, "--ignore-check") {
				t.Errorf("got %q, want the hint %q", got, test.hint)
			}
		})
	}
}
