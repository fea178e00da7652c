//go:build e2e

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refused wants apply to fail with these words, and nothing to be asked for.
func (w *world) refused(t *testing.T, args []string, words ...string) {
	t.Helper()
	said, err := w.Upgrade(w.ctx, append([]string{"apply"}, args...)...)
	if err == nil {
		t.Fatalf("kubectl upgrade apply %s was not refused:\n%s", strings.Join(args, " "), said)
	}
	t.Log("\n" + said)
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("the refusal does not say %q", word)
		}
	}
	list, err := w.ours.ClusterUpgrades.List(w.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("%d ClusterUpgrades were made", len(list.Items))
	}
}

func (w *world) skipRefused(t *testing.T) {
	w.refused(t, []string{"v1.36.1", "--yes"}, "v1.36.1", "minor")
}

func (w *world) freezeRefuses(t *testing.T) {
	w.must(t)(w.Upgrade(w.ctx, "freeze", "--for", "1h", "--reason", "the shop is open"))
	for _, args := range [][]string{{"v1.35", "--yes"}, {"v1.35", "--yes", "--ignore-schedule"}} {
		w.refused(t, args, "the shop is open", "until")
	}
	w.must(t)(w.Upgrade(w.ctx, "unfreeze"))
}
