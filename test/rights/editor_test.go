package rights_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func containsOwner(text string) bool { return strings.Contains(text, `"ownerReferences"`) }

// ofCoordinator are writes that only the coordinator may make.
var ofCoordinator = []try{
	change("choose what a node runs", ours+"/nodeupgrades/worker-1", `{"spec":{"version":"v1.34.4"}}`),
	create("create a NodeUpgrade", ours+"/nodeupgrades", object("NodeUpgrade", "")),
	remove("delete a NodeUpgrade", ours+"/nodeupgrades/worker-1"),
	change("write a node's status", ours+"/nodeupgrades/worker-1/status", `{"status":{"step":"Idle"}}`),
	change("fix the images of an upgrade", ours+"/clusterupgrades/patch/status", `{"status":{"progress":"1/2"}}`),
	change("write the policy's status", ours+"/upgradepolicies/cluster/status", `{"status":{"version":"v1.34.4"}}`),
	create("create an upgrade that the policy asked for", ours+"/clusterupgrades",
		`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"new","annotations":{"kubectl-upgrade.dev/created-by":"coordinator"}},"spec":{"type":"Reboot"}}`),
	create("create a record", ours+"/upgraderecords", object("UpgradeRecord", `,"spec":{"upgrade":{"name":"n","uid":"u"},"outcome":"Succeeded","endTime":"2026-01-01T00:00:00Z","piece":1,"pieces":1}`)),
	edit("reserve a slot", leases+"/free", `{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":"worker-1/uid"}}}`),
	edit("free a slot", leases+"/held-by-1", `{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":null}},"spec":{"holderIdentity":null}}`),
	create("make one more slot", leases, `{"metadata":{"name":"new","labels":{"kubectl-upgrade.dev/slot":"true"}}}`),
	remove("delete a slot", leases+"/held-by-2"),
	edit("become the leader", leases+"/coordinator", `{"spec":{"holderIdentity":"x"}}`),
}

// TestEditorIsNotTheCoordinator checks that a user with Kubernetes' ClusterRole edit gets nothing
// of the coordinator's: neither by impersonation of its ServiceAccount, nor by a token that is
// created for it, nor by writing Leases. The coordinator itself may make every write.
func TestEditorIsNotTheCoordinator(t *testing.T) {
	config := install(t)
	theirs := editorConfig(t, config)
	impersonating := func(extra map[string][]string) *identity {
		as := rest.CopyConfig(theirs)
		as.Impersonate = rest.ImpersonationConfig{UserName: coordinatorAccount, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kubectl-upgrade"}, Extra: extra}
		if extra == nil { // groups that the editor may not impersonate; the API server adds them
			as.Impersonate.Groups = nil
		}
		return newIdentity(t, "an editor as the coordinator", as, administrator(t, config))
	}
	for _, try := range ofCoordinator {
		if got := coordinator(t, config).try(t, try); got.answer != allowed {
			t.Errorf("the coordinator may not %s: %s: %s", try.what, got.answer, got.message)
		}
		if got := impersonating(nil).try(t, try); got.answer != byPolicy {
			t.Errorf("an editor who impersonates the coordinator may %s: %s: %s", try.what, got.answer, got.message)
		}
		extra := map[string][]string{"authentication.kubernetes.io/pod-name": {coordinatorPod}}
		if got := impersonating(extra).try(t, try); got.answer != noRight {
			t.Errorf("an editor who impersonates the coordinator with a pod's name may %s: %s: %s", try.what, got.answer, got.message)
		}
		if got := kubernetesEditor(t, config).try(t, try); got.answer == allowed {
			t.Errorf("an editor may %s", try.what)
		}
	}
	pod, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("kubectl-upgrade").Get(t.Context(), coordinatorPod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bound := range []string{"", fmt.Sprintf(`"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":%q,"uid":%q}`, pod.Name, pod.UID)} {
		for _, name := range []string{"coordinator", "node-agent"} {
			request := create("", core+"/namespaces/kubectl-upgrade/serviceaccounts/"+name+"/token", `{"spec":{`+bound+`}}`)
			if got := kubernetesEditor(t, config).try(t, request); got.answer != byPolicy {
				t.Errorf("an editor gets a token of %s with %q: %s: %s", name, bound, got.answer, got.message)
			}
		}
	}
	// A kubelet gets them for its pods, and an administrator for a test.
	bound := create("", core+"/namespaces/kubectl-upgrade/serviceaccounts/coordinator/token", fmt.Sprintf(`{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":%q,"uid":%q}}}`, pod.Name, pod.UID))
	for _, by := range []*identity{kubelet(t, config, "cp-1"), administrator(t, config)} {
		if got := by.try(t, bound); got.answer != allowed {
			t.Errorf("%s gets no token of the coordinator: %s: %s", by.name, got.answer, got.message)
		}
	}
}

// TestNamespaceIsDeletedWithItsLeases checks that the controllers which delete a namespace and its
// objects may delete the slots.
func TestNamespaceIsDeletedWithItsLeases(t *testing.T) {
	config := install(t)
	for _, name := range []string{"namespace-controller", "generic-garbage-collector"} {
		by := as(t, config, name, "system:serviceaccount:kube-system:"+name, "system:serviceaccounts")
		if got := by.try(t, remove("", leases+"/held-by-2")); got.answer != allowed {
			t.Errorf("%s: %s: %s", name, got.answer, got.message)
		}
	}
}
