package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// TestNodeUpgradeOfFormerNode checks that an agent does not follow the NodeUpgrade of a former
// Node of its name, which its first list may still have: the new Node may not be managed.
func TestNodeUpgradeOfFormerNode(t *testing.T) {
	nowhere := &rest.Config{Host: "http://127.0.0.1:1"}
	ours, err := kube.NewKinds(nowhere)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kube.NewForConfig(nowhere)
	if err != nil {
		t.Fatal(err)
	}
	for owner, follows := range map[types.UID]bool{"of-the-former": false, "of-this-one": true} {
		steps := NewDriver(Config{Node: "w1", Account: clients, Kubelet: clients, Upgrades: ours, Now: time.Now, Ready: func() {}}, nil, nil)
		nu := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
		nu.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "w1", UID: owner}}
		for _, err := range []error{
			steps.Caches().NodeUpgrades.Add(nu),
			steps.Caches().Nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "of-this-one"}}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		r := round{node: steps.agent.kubelet.node()}
		steps.agent.report.add(&r)
		if got := r.order != nil; got != follows {
			t.Errorf("follows a NodeUpgrade %s: %t, want %t", owner, got, follows)
		}
	}
}
