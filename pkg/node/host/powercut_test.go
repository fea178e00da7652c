//go:build !integration

package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestPowerCutEndsOnce checks that after a power cut, which leaves a request without a result,
// every read returns the same result: an agent that waits for facts newer than the last end
// of work would otherwise wait forever.
func TestPowerCutEndsOnce(t *testing.T) {
	root := t.TempDir()
	asked := verb.Request{Verb: verb.Kubeadm, Key: "v1.34.4 attempt 1", RequestedAt: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)}
	if err := writeJSON(requestFile(root, verb.Kubeadm), asked); err != nil {
		t.Fatal(err)
	}
	first, err := lastResult(root, verb.Kubeadm, v1alpha1.ReasonKubeadmFailed)
	if err != nil || first == nil || first.OK || first.Key != asked.Key || first.Message == "" || first.Reason != v1alpha1.ReasonKubeadmFailed {
		t.Fatalf("%+v %v", first, err)
	}
	time.Sleep(time.Millisecond)
	second, err := lastResult(root, verb.Kubeadm, v1alpha1.ReasonKubeadmFailed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second read returned another result (-first +second):\n%s", diff)
	}
}
