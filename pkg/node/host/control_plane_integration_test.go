//go:build integration

package host_test

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestVerbsOfControlPlanes runs the verbs for control planes on a worker: each reports why it
// cannot run.
func TestVerbsOfControlPlanes(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)

	start(t, c, request(t, verb.Etcd, "e", nil), verb.Options{})
	result := finish(t, c, changes, verb.Etcd)
	var health verb.EtcdOutput
	if err := result.Decode(&health); err != nil || !result.OK || health.Etcd != nil {
		t.Errorf("etcd: %s %s %+v %v", result.Reason, result.Message, health, err)
	}

	start(t, c, request(t, verb.Snapshot, "s", verb.SnapshotArgs{Upgrade: "u"}), verb.Options{})
	result = finish(t, c, changes, verb.Snapshot)
	if result.Reason != v1alpha1.ReasonSnapshotFailed || !strings.Contains(result.Message, "strategy.etcdSnapshotPolicy to Skip") {
		t.Errorf("snapshot: %s %s", result.Reason, result.Message)
	}

	args := verb.PullArgs{Version: "v1.34.4", SHA256: upgradeArgs(t).SHA256, ClusterConfiguration: "kind: ClusterConfiguration"}
	start(t, c, request(t, verb.Pull, "p", args), fromImage("v1.34.4"))
	result = finish(t, c, changes, verb.Pull)
	if result.Reason != v1alpha1.ReasonPullFailed || !strings.Contains(result.Message, "asking the container runtime") {
		t.Errorf("pull: %s %s\n%s", result.Reason, result.Message, result.LogTail)
	}
}
