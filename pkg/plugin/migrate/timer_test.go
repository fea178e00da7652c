package migrate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestFromTimer(t *testing.T) {
	node := func(name, kubelet, next, unsupported string) v1alpha1.NodeUpgrade {
		n := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Versions = v1alpha1.NodeVersions{Kubelet: kubelet, NextBoot: next}
		if unsupported != "" {
			n.Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: unsupported}
		}
		return n
	}
	inventory := func(name, locksmithd string, dropIns ...string) v1alpha1.NodeInventory {
		return v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: name}, NodeFacts: v1alpha1.NodeFacts{Locksmithd: locksmithd, SysupdateTimerDropIns: dropIns}}
	}
	got := describe(FromTimer(Timer{
		Nodes:        []string{"a", "b", "c", "d"},
		NodeUpgrades: []v1alpha1.NodeUpgrade{node("a", "v1.34.3", "v1.34.4", ""), node("b", "v1.34.4", "v1.34.4", ""), node("c", "v1.34.3", "", "no symlink")},
		Inventories:  []v1alpha1.NodeInventory{inventory("a", "enabled", "/etc/x.conf"), inventory("b", "masked"), inventory("c", "", "/etc/x.conf")},
	}))
	for _, want := range []string{
		"nodes without a report = d: none", "symlink moved already = a (runs v1.34.3, next boot v1.34.4): none",
		"nodes without a sysext image = c: none", "drop-in /etc/x.conf = a, c: none", "locksmithd is not masked = a: none", "- type: Patch",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	calm := FromTimer(Timer{Nodes: []string{"b"}, NodeUpgrades: []v1alpha1.NodeUpgrade{node("b", "v1.34.4", "v1.34.4", "")}})
	for _, row := range calm.Rows {
		if row.Set {
			t.Errorf("there is nothing to find: %+v", row)
		}
	}
}
