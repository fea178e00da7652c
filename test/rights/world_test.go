package rights_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// cluster is a real API server with all of manifests/ applied, three nodes, and pods on two of
// them.
const cluster = `
apiVersion: v1
kind: Node
metadata: {name: cp-1, labels: {node-role.kubernetes.io/control-plane: ""}}
---
apiVersion: v1
kind: Node
metadata: {name: worker-1}
---
apiVersion: v1
kind: Node
metadata: {name: worker-2}
---
apiVersion: v1
kind: Pod
metadata: {name: agent-worker-1, namespace: kubectl-upgrade}
spec: {nodeName: worker-1, serviceAccountName: node-agent, containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: coordinator-5d9c7b6f4-x2x7k, namespace: kubectl-upgrade}
spec:
  nodeName: cp-1
  serviceAccountName: coordinator
  containers: [{name: c, image: x}]
  volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: default}
spec: {nodeName: worker-1, containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-2, namespace: default}
spec: {nodeName: worker-2, containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver-cp-1, namespace: kube-system, labels: {component: kube-apiserver, tier: control-plane}}
spec: {nodeName: cp-1, containers: [{name: c, image: "registry.k8s.io/kube-apiserver:v1.34.3"}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: kube-system}
---
apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: kube-system}
---
apiVersion: v1
kind: Secret
metadata: {name: chat, namespace: kubectl-upgrade}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kubelet-config, namespace: kube-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kubeadm-config, namespace: kube-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns, namespace: kube-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: kube-system}
---
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: csr}
spec: {signerName: example.com/none, usages: [client auth], request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHTE1EOENBUUF3RERFS01BZ0dBMVVFQXhNQmVEQXFNQVVHQXl0bGNBTWhBQ3BKcUh3d2FyeHcyMTRSWk1sVApqOVc3Syt6ODIvRzF0dUI3cllmbjBnQ09vQUF3QlFZREsyVndBMEVBb2x3LzVhYk5MRmt0SVhxaWRWNlRkcXFtCitoNXpxQVY4bWdsbE1pVFljMTcyTGw0d1lYQlpMU1NSOU51K0VteDh6dFNQMEMxaysybEhNVWRqYjNWUkJRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: worker-2, namespace: kube-node-lease}
spec: {holderIdentity: worker-2}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: coordinator, namespace: kubectl-upgrade}
spec: {holderIdentity: cp-1_0, leaseDurationSeconds: 15}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: allowed, namespace: kubectl-upgrade-hooks}
spec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: other, namespace: kubectl-upgrade-hooks}
spec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: start-allowed, namespace: kubectl-upgrade-hooks}
rules: [{apiGroups: [batch], resources: [cronjobs], resourceNames: [allowed], verbs: [get, start]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: start-allowed, namespace: kubectl-upgrade-hooks}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: start-allowed}
subjects: [{kind: ServiceAccount, name: coordinator, namespace: kubectl-upgrade}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {no: pod}}}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: patch}
spec: {version: v1.34.4}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: signed, annotations: {kubectl-upgrade.dev/requested-by: bob}}
spec: {version: v1.34.4}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: decided, annotations: {kubectl-upgrade.dev/changed-by: bob, kubectl-upgrade.dev/changed-generation: "1"}}
spec: {version: v1.34.4, approved: {upgrade: true, by: bob}, ignoreChecks: [{id: pdb-blocks, comment: one replica, by: bob}]}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: nights}
spec: {maintenanceWindows: [{name: night, startTime: "2026-01-01T00:00:00Z", endTime: "2026-01-01T04:00:00Z", recurrence: FREQ=DAILY}]}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradeRecord
metadata: {name: patch-1}
spec:
  upgrade: {name: before, uid: u}
  outcome: Succeeded
  endTime: "2026-01-01T00:00:00Z"
  piece: 1
  pieces: 1
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: CoordinatorState
metadata: {name: cluster}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: NodeUpgrade
metadata: {name: worker-1}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: NodeUpgrade
metadata: {name: worker-2}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: NodeInventory
metadata: {name: worker-1}
gatheredTime: "2026-01-01T00:00:00Z"
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: NodeInventory
metadata: {name: worker-2}
gatheredTime: "2026-01-01T00:00:00Z"
`

// slots are Leases as the coordinator creates them, one for each state of a slot.
const slots = `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held-by-1, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}, annotations: {kubectl-upgrade.dev/reserved-for: worker-1/uid}}
spec: {holderIdentity: worker-1/uid}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held-by-2, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}, annotations: {kubectl-upgrade.dev/reserved-for: worker-2/uid}}
spec: {holderIdentity: worker-2/uid}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: for-1, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}, annotations: {kubectl-upgrade.dev/reserved-for: worker-1/uid}}
spec: {}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: for-2, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}, annotations: {kubectl-upgrade.dev/reserved-for: worker-2/uid}}
spec: {}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: next-is-2, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}, annotations: {kubectl-upgrade.dev/reserved-for: worker-2/uid}}
spec: {holderIdentity: worker-1/uid}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: free, namespace: kubectl-upgrade, labels: {kubectl-upgrade.dev/slot: "true"}}
spec: {}
`

var installed sync.Once

// install returns the API server with the manifests and the cluster on it.
func install(t *testing.T) *rest.Config {
	t.Helper()
	config := apitest.Start(t)
	installed.Do(func() {
		apitest.InstallCRDs(t, config)
		kubectl(t, config, "", "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(apitest.Root(t), "manifests"))
		kubectl(t, config, cluster+"---"+slots, "apply", "-f", "-")
		awaitPolicies(t, config)
	})
	return config
}

func kubectl(t *testing.T, config *rest.Config, input string, args ...string) {
	t.Helper()
	if out, err := command(t, config, input, args...).CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func command(t *testing.T, config *rest.Config, input string, args ...string) *exec.Cmd {
	cmd := apitest.Kubectl(t, config, args...)
	cmd.Stdin = strings.NewReader(input)
	return cmd
}

// awaitPolicies waits until each policy has refused a request: they take effect a moment after
// they were created.
func awaitPolicies(t *testing.T, config *rest.Config) {
	t.Helper()
	agent, editor := agent(t, config), person(t, config, "kubectl-upgrade-edit")
	for _, probe := range []struct {
		by *identity
		try
	}{
		{agent, statusOf("worker-2")},
		{agent, takes("free")},
		{editor, try{do: "PATCH", at: ours + "/clusterupgrades/patch", with: `{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-by":"x"}}}`}},
		{editor, try{do: "PATCH", at: ours + "/nodeupgrades/worker-1", with: `{"spec":{"version":"v1.34.4"}}`}},
		{coordinator(t, config), try{do: "PATCH", at: ours + "/upgradepolicies/cluster", with: `{"metadata":{"labels":{"x":"y"}}}`}},
		{as(t, config, "coordinator", coordinatorAccount, "system:serviceaccounts"), try{do: "DELETE", at: leases + "/held-by-2"}},
		{kubernetesEditor(t, config), try{do: "DELETE", at: leases + "/held-by-2"}},
		{kubernetesEditor(t, config), token("", "kubectl-upgrade", "coordinator")},
		{coordinator(t, config), create("", hookJobs, job("allowed", "evil:1"))},
	} {
		refused := func() bool { return probe.by.try(t, probe.try).answer == byPolicy }
		for i := 0; !refused(); i++ {
			if i == 200 {
				t.Fatalf("no policy refuses %s %s", probe.do, probe.at)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
