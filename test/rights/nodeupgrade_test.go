package rights_test

import "testing"

// TestWritersOfNodeUpgrade checks who may write a NodeUpgrade's spec, and its finalizers and owner
// references, which decide when it is deleted. The garbage collector has to change those.
func TestWritersOfNodeUpgrade(t *testing.T) {
	config := install(t)
	change := func(patch string) try {
		return try{do: "PATCH", at: ours + "/nodeupgrades/worker-1", with: patch}
	}
	spec := change(`{"spec":{"version":"v1.34.4"}}`)
	abandoned := change(`{"abandoned":{"comment":"its disk died"}}`)
	metadata := []try{
		change(`{"metadata":{"labels":{"x":"y"}}}`),
		change(`{"metadata":{"annotations":{"x":"y"}}}`),
		change(`{"metadata":{"finalizers":["example.com/mine"]}}`),
		change(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u"}]}}`),
	}
	// Both have every right on it that RBAC can give.
	collector := as(t, config, "garbage collector", "system:serviceaccount:kube-system:generic-garbage-collector")
	editor := person(t, config, "kubectl-upgrade-edit")
	for _, by := range []*identity{editor, collector} {
		if got := by.try(t, spec); got.answer == allowed {
			t.Errorf("%s writes the spec", by.name)
		}
	}
	if got := editor.try(t, abandoned); got.answer != allowed {
		t.Errorf("abandoned by a person: %s", got.message)
	}
	asked := change(`{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-for":"u"}}}`)
	for _, by := range []*identity{editor, collector} {
		if got := by.try(t, asked); got.answer != byPolicy {
			t.Errorf("%s asks for a node without the verb request: %s", by.name, got.answer)
		}
	}
	for _, try := range metadata {
		if got := editor.try(t, try); got.answer != byPolicy {
			t.Errorf("a person writes %s: %s", try.with, got.answer)
		}
		if got := collector.try(t, try); got.answer != allowed {
			t.Errorf("the garbage collector writes %s: %s", try.with, got.message)
		}
	}
}

// TestInventoryHasOnlyItsNodeAsOwner checks that a NodeInventory cannot block the deletion of
// other objects.
func TestInventoryHasOnlyItsNodeAsOwner(t *testing.T) {
	config := install(t)
	agent := agent(t, config)
	for metadata, want := range map[string]string{
		`ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: u}]`:                                  allowed,
		`ownerReferences: [{apiVersion: v1, kind: Node, name: worker-2, uid: u}]`:                                  byPolicy,
		`ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: u, blockOwnerDeletion: true}]`:        byPolicy,
		`ownerReferences: [{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: ClusterUpgrade, name: patch, uid: u}]`: byPolicy,
		`finalizers: [example.com/mine]`: byPolicy,
	} {
		got := agent.try(t, try{do: "PATCH", at: ours + "/nodeinventories/worker-1?fieldManager=node-agent&force=true",
			with: "{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: NodeInventory, metadata: {name: worker-1, " + metadata + `}, gatheredTime: "2026-01-02T00:00:00Z"}`})
		if got.answer != want {
			t.Errorf("%s: got %s (%s), want %s", metadata, got.answer, got.message, want)
		}
	}
}
