package rights_test

import "fmt"

const (
	core   = "/api/v1"
	ours   = "/apis/kubectl-upgrade.dev/v1alpha1"
	leases = "/apis/coordination.k8s.io/v1/namespaces/kubectl-upgrade/leases"
)

// statusOf writes the status of a node's NodeUpgrade, as agents do.
func statusOf(node string) try {
	return try{do: "PATCH", at: ours + "/nodeupgrades/" + node + "/status?fieldManager=node-agent&force=true",
		with: fmt.Sprintf("{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: NodeUpgrade, metadata: {name: %s}, status: {step: Idle}}", node)}
}

// takes makes worker-1 the holder of a slot.
func takes(slot string) try {
	return try{do: "EDIT", at: leases + "/" + slot, with: `{"spec":{"holderIdentity":"worker-1/uid"}}`}
}
