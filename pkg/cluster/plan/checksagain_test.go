package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestChecksAreRepeatedAtOnce checks that a report that blocks is replaced as soon as a part of
// the control plane is healthy again, and not half a minute later.
func TestChecksAreRepeatedAtOnce(t *testing.T) {
	const from, to = "v1.34.3", "v1.34.4"
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	image := v1alpha1.Image{Architecture: "amd64", URL: "http://images.example/k.raw", Digest: v1alpha1.DigestOf("ab")}
	healthy := func() clusterstate.Snapshot {
		s := clusterstate.Snapshot{
			Policy:     managing(),
			Nodes:      []clusterstate.Node{{Name: "cp-1", UID: "u-cp-1", OS: "linux", Architecture: "amd64", Ready: true, Kubelet: from, ControlPlane: true}},
			APIServers: []clusterstate.StaticPod{{Node: "cp-1", Version: from, Ready: true}},
			Etcd:       []clusterstate.StaticPod{{Node: "cp-1", Ready: true}},
			Controllers: []clusterstate.StaticPod{
				{Node: "cp-1", Version: from, Ready: true}, {Node: "cp-1", Version: from, Ready: true},
			},
			Source: clusterstate.Source{Offers: []clusterstate.Offer{{Version: to, Image: image}}},
		}
		u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "uid-u"}}
		u.Spec.Version, u.Spec.WindowPolicy = to, v1alpha1.WindowPolicyIgnore
		s.Upgrades = []v1alpha1.ClusterUpgrade{u}
		return s
	}
	blocked := []v1alpha1.Finding{{ID: "control-plane-pod", Level: v1alpha1.LevelBlock, Message: "not Ready"}}
	for name, change := range map[string]func(*clusterstate.Snapshot){
		"kube-apiserver":          func(s *clusterstate.Snapshot) { s.APIServers[0].Ready = false },
		"etcd":                    func(s *clusterstate.Snapshot) { s.Etcd[0].Ready = false },
		"kube-controller-manager": func(s *clusterstate.Snapshot) { s.Controllers[0].Ready = false },
		"the node":                func(s *clusterstate.Snapshot) { s.Nodes[0].Ready = false },
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy()
			change(&s)
			s.Preflight = &clusterstate.Preflight{Upgrade: *reference("u"), Key: plan.Decide(s, now).PreflightKey, At: now, Findings: blocked}
			if p := plan.Decide(s, now.Add(time.Second)); p.NeedsPreflight {
				t.Error("the checks are repeated though nothing has changed")
			}
			again := healthy()
			again.Preflight = s.Preflight
			if p := plan.Decide(again, now.Add(time.Second)); !p.NeedsPreflight {
				t.Error("the checks are not repeated")
			}
		})
	}
}
