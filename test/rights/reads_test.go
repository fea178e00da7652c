package rights_test

import "testing"

// TestReadsOfAgent checks that the agents' ServiceAccount can read only what all agents need. An
// agent reads its own node's objects as the kubelet.
func TestReadsOfAgent(t *testing.T) {
	config := install(t)
	agent, node := agent(t, config), kubelet(t, config, "worker-1")
	for at, want := range map[string]string{
		core + "/pods": noRight,
		core + "/pods?fieldSelector=spec.nodeName=worker-1":  noRight,
		core + "/namespaces/default/pods":                    noRight,
		core + "/nodes":                                      noRight,
		core + "/nodes?fieldSelector=metadata.name=worker-1": noRight,
		core + "/namespaces/kube-system/pods":                allowed, // the apiservers' versions
	} {
		if got := agent.try(t, try{do: "GET", at: at}); got.answer != want {
			t.Errorf("an agent reads %s: got %s, want %s", at, got.answer, want)
		}
	}
	for at, want := range map[string]string{
		core + "/pods?fieldSelector=spec.nodeName=worker-1":                           allowed,
		core + "/pods?fieldSelector=spec.nodeName=worker-1&watch=1&timeoutSeconds=1":  allowed,
		core + "/nodes?fieldSelector=metadata.name=worker-1":                          allowed,
		core + "/nodes?fieldSelector=metadata.name=worker-1&watch=1&timeoutSeconds=1": allowed,
		core + "/pods?fieldSelector=spec.nodeName=worker-2":                           noRight,
		core + "/nodes?fieldSelector=metadata.name=worker-2":                          noRight,
	} {
		if got := node.try(t, try{do: "GET", at: at}); got.answer != want {
			t.Errorf("its kubelet reads %s: got %s, want %s", at, got.answer, want)
		}
	}
}
