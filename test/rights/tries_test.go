package rights_test

import (
	"fmt"
	"net/http"
)

const (
	core   = "/api/v1"
	apps   = "/apis/apps/v1"
	rbac   = "/apis/rbac.authorization.k8s.io/v1"
	ours   = "/apis/kubectl-upgrade.dev/v1alpha1"
	leases = "/apis/coordination.k8s.io/v1/namespaces/kubectl-upgrade/leases"
)

// group is a part of the table.
type group struct {
	name  string
	tries []try
}

// groups are the requests that are tried with each identity. Agent and kubelet are worker-1's.
var groups = []group{
	{"Pods and workloads", []try{
		read("read the Pods of the cluster", core+"/pods"),
		read("read the Pods of its own node", core+"/pods?fieldSelector=spec.nodeName=worker-1"),
		read("read the Pods of another node", core+"/pods?fieldSelector=spec.nodeName=worker-2"),
		read("read the Pods of kube-system", core+"/namespaces/kube-system/pods"),
		{what: "read the log of a Pod on another node", do: http.MethodGet, at: core + "/namespaces/default/pods/web-2/log", anyAnswer: true},
		{what: "run a program in a Pod on another node", do: http.MethodPost, at: core + "/namespaces/default/pods/web-2/exec?command=sh", anyAnswer: true},
		create("create a Pod in `kubectl-upgrade`, whose level is privileged", core+"/namespaces/kubectl-upgrade/pods", pod),
		create("create a Pod in `default`", core+"/namespaces/default/pods", pod),
		create("evict a Pod of its own node", core+"/namespaces/default/pods/web-1/eviction", eviction("web-1")),
		create("evict a Pod of another node", core+"/namespaces/default/pods/web-2/eviction", eviction("web-2")),
		remove("delete a Pod of its own node", core+"/namespaces/default/pods/web-1"),
		remove("delete a Pod of another node", core+"/namespaces/default/pods/web-2"),
		read("read the DaemonSets of the cluster", apps+"/daemonsets"),
		read("read all PodDisruptionBudgets", "/apis/policy/v1/poddisruptionbudgets"),
		read("read one PodDisruptionBudget by its name", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web"),
		read("read the Deployments of the cluster", apps+"/deployments"),
		change("change the image of the agents", apps+"/namespaces/kubectl-upgrade/daemonsets/node-agent", `{"metadata":{"labels":{"x":"y"}}}`),
		change("change the image of the coordinator", apps+"/namespaces/kubectl-upgrade/deployments/coordinator", `{"metadata":{"labels":{"x":"y"}}}`),
		create("create a DaemonSet", apps+"/namespaces/kube-system/daemonsets",
			`{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}`),
	}},
	{"Jobs of hooks", []try{
		create("start a CronJob that its owner lets the coordinator start", hookJobs, job("allowed", "c:1")),
		create("run something else than that CronJob", hookJobs, job("allowed", "evil:1")),
		create("start another CronJob", hookJobs, job("other", "c:1")),
		create("create a Job of no CronJob", hookJobs, `{"metadata":{"name":"new"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"c:1"}]}}}}`),
		read("read the Jobs of hooks", hookJobs),
		read("read the CronJobs of hooks", "/apis/batch/v1/namespaces/kubectl-upgrade-hooks/cronjobs"),
		change("change a CronJob of a hook", "/apis/batch/v1/namespaces/kubectl-upgrade-hooks/cronjobs/allowed", `{"metadata":{"labels":{"x":"y"}}}`),
	}},
	{"Nodes", []try{
		read("read all Nodes", core+"/nodes"),
		read("read its own Node", core+"/nodes/worker-1"),
		read("read another Node", core+"/nodes/worker-2"),
		change("cordon its own Node", core+"/nodes/worker-1", `{"spec":{"unschedulable":true}}`),
		change("cordon another Node", core+"/nodes/worker-2", `{"spec":{"unschedulable":true}}`),
		change("set the slot annotation on its own Node", core+"/nodes/worker-1", `{"metadata":{"annotations":{"kubectl-upgrade.dev/slot":"slot-0"}}}`),
		change("set the slot annotation on another Node", core+"/nodes/worker-2", `{"metadata":{"annotations":{"kubectl-upgrade.dev/slot":"slot-0"}}}`),
		change("taint its own Node", core+"/nodes/worker-1", `{"spec":{"taints":[{"key":"x","effect":"NoExecute"}]}}`),
		change("label its own Node as a control plane", core+"/nodes/worker-1", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`),
		change("report its own Node as Ready", core+"/nodes/worker-1/status", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
		change("report another Node as Ready", core+"/nodes/worker-2/status", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
		change("show the condition `Drained` of its own Node", core+"/nodes/worker-1/status", `{"status":{"conditions":[{"type":"Drained","status":"True"}]}}`),
		change("show the condition `Drained` of another Node", core+"/nodes/worker-2/status", `{"status":{"conditions":[{"type":"Drained","status":"True"}]}}`),
		remove("delete its own Node", core+"/nodes/worker-1"),
		remove("delete another Node", core+"/nodes/worker-2"),
		{what: "reach the kubelet of another node", do: http.MethodGet, at: core + "/nodes/worker-2/proxy/pods", anyAnswer: true},
	}},
	{"Secrets and configuration", []try{
		read("read the Secrets of the cluster", core+"/secrets"),
		read("read a Secret of kube-system", core+"/namespaces/kube-system/secrets/secret"),
		read("read a Secret of kubectl-upgrade that no Role names, such as a chat's address", core+"/namespaces/kubectl-upgrade/secrets/chat"),
		read("read the kubelets' configuration", core+"/namespaces/kube-system/configmaps/kubelet-config"),
		read("read how kubeadm made the cluster", core+"/namespaces/kube-system/configmaps/kubeadm-config"),
		read("read the Corefile of CoreDNS", core+"/namespaces/kube-system/configmaps/coredns"),
		read("read another ConfigMap of kube-system", core+"/namespaces/kube-system/configmaps/other"),
		change("change the kubelets' configuration", core+"/namespaces/kube-system/configmaps/kubelet-config", `{"data":{"x":"y"}}`),
		{what: "read the metrics of the API server", do: http.MethodGet, at: "/metrics"},
		create("ask whose token it is that a client sent (TokenReview)", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x"}}`),
		create("ask what another user may do (SubjectAccessReview)", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","nonResourceAttributes":{"path":"/metrics","verb":"get"}}}`),
	}},
	{"More rights", []try{
		token("create a token for the agents' ServiceAccount that is not bound to a Pod", "kubectl-upgrade", "node-agent"),
		token("get a token of the coordinator", "kubectl-upgrade", "coordinator"),
		create("get a token of the coordinator that is bound to its Pod", core+"/namespaces/kubectl-upgrade/serviceaccounts/coordinator/token",
			`{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"`+coordinatorPod+`"}}}`),
		token("get a token of an account of kube-system", "kube-system", "default"),
		{what: "act as an administrator", do: "MAY", at: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			with: `{"spec":{"resourceAttributes":{"verb":"impersonate","resource":"groups","name":"system:masters"}}}`},
		change("change the agents' ClusterRole", rbac+"/clusterroles/kubectl-upgrade-node-agent", `{"metadata":{"labels":{"x":"y"}}}`),
		create("bind itself to cluster-admin", rbac+"/clusterrolebindings", `{"metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}}`),
		create("bind itself to a Role in kube-system", rbac+"/namespaces/kube-system/rolebindings", `{"metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"}}`),
		{what: "approve a certificate", do: http.MethodPut, at: "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr/approval", anyAnswer: true,
			with: `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"csr"},"status":{"conditions":[{"type":"Approved","status":"True","reason":"x"}]}}`},
		remove("delete one of kubectl-upgrade's admission policies", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/kubectl-upgrade-node-agent-slots"),
		remove("unbind one of kubectl-upgrade's admission policies", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/kubectl-upgrade-node-agent-slots"),
		create("create an admission webhook", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", `{"metadata":{"name":"x"}}`),
		change("change one of kubectl-upgrade's CRDs", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeupgrades.kubectl-upgrade.dev", `{"metadata":{"labels":{"x":"y"}}}`),
		change("change the PodSecurity level of kubectl-upgrade's namespace", core+"/namespaces/kubectl-upgrade", `{"metadata":{"labels":{"x":"y"}}}`),
	}},
	{"NodeUpgrades", []try{
		read("read them", ours+"/nodeupgrades"),
		named("write the status of its own", statusOf("worker-1")),
		named("write the status of another node's", statusOf("worker-2")),
		change("choose what its own node runs (`spec`)", ours+"/nodeupgrades/worker-1", `{"spec":{"version":"v1.34.4"}}`),
		change("choose what another node runs (`spec`)", ours+"/nodeupgrades/worker-2", `{"spec":{"version":"v1.34.4"}}`),
		change("abandon a node", ours+"/nodeupgrades/worker-2", `{"abandoned":{"comment":"x"}}`),
		change("abandon a node in another user's name", ours+"/nodeupgrades/worker-2", `{"abandoned":{"comment":"x","by":"alice"}}`),
		change("add a finalizer", ours+"/nodeupgrades/worker-2", `{"metadata":{"finalizers":["example.com/x"]}}`),
		create("create one", ours+"/nodeupgrades", object("NodeUpgrade", "")),
		remove("delete one", ours+"/nodeupgrades/worker-2"),
	}},
	{"Upgrades, schedules and the policy", []try{
		read("read one upgrade", ours+"/clusterupgrades/patch"),
		read("read all upgrades", ours+"/clusterupgrades"),
		create("request an upgrade", ours+"/clusterupgrades", object("ClusterUpgrade", `,"spec":{"type":"Reboot"}`)),
		create("request an upgrade in another user's name", ours+"/clusterupgrades",
			`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"new","annotations":{"kubectl-upgrade.dev/requested-by":"alice"}},"spec":{"type":"Reboot"}}`),
		create("request an upgrade in the coordinator's name", ours+"/clusterupgrades",
			`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"new","annotations":{"kubectl-upgrade.dev/created-by":"coordinator"}},"spec":{"type":"Reboot"}}`),
		change("approve an upgrade", ours+"/clusterupgrades/patch", `{"spec":{"approved":{"groups":["canary"],"by":null}}}`),
		change("let an upgrade ignore a check", ours+"/clusterupgrades/patch", `{"spec":{"ignoreChecks":[{"id":"bare-pod","comment":"c"}]}}`),
		change("approve an upgrade in another user's name", ours+"/clusterupgrades/patch", `{"spec":{"approved":{"upgrade":true,"by":"alice"}}}`),
		change("ignore a check in another user's name", ours+"/clusterupgrades/patch", `{"spec":{"ignoreChecks":[{"id":"pdb-blocks","comment":"c","by":"alice"}]}}`),
		change("ignore a gate of the UpgradePolicy", ours+"/clusterupgrades/patch", `{"spec":{"ignoreGates":[{"name":"alerts","comment":"noise"}]}}`),
		change("change an upgrade in another user's name", ours+"/clusterupgrades/patch",
			`{"metadata":{"annotations":{"kubectl-upgrade.dev/changed-by":"alice","kubectl-upgrade.dev/changed-generation":"2"}},"spec":{"suspend":true}}`),
		change("suspend an upgrade", ours+"/clusterupgrades/patch", `{"spec":{"suspend":true}}`),
		change("let an upgrade ignore windows", ours+"/clusterupgrades/patch", `{"spec":{"windowPolicy":"Ignore"}}`),
		remove("delete an upgrade", ours+"/clusterupgrades/patch"),
		change("write the status of an upgrade, with the images' digests", ours+"/clusterupgrades/patch/status", `{"status":{"progress":"1/2"}}`),
		read("read the schedules", ours+"/maintenanceschedules"),
		create("freeze", ours+"/maintenanceschedules", object("MaintenanceSchedule", `,"spec":{}`)),
		change("open a window", ours+"/maintenanceschedules/nights", `{"spec":{"timeZone":"Europe/Berlin"}}`),
		remove("delete a schedule", ours+"/maintenanceschedules/nights"),
		change("write the status of a schedule", ours+"/maintenanceschedules/nights/status", `{"status":{"state":"Open"}}`),
		read("read the policy", ours+"/upgradepolicies/cluster"),
		change("change the source of images", ours+"/upgradepolicies/cluster", `{"spec":{"source":{"url":"https://example.com/"}}}`),
		change("have upgrades told to a chat", ours+"/upgradepolicies/cluster", `{"spec":{"notices":[{"name":"chat","urlSecretRef":{"name":"chat"}}]}}`),
		change("enable automatic upgrades", ours+"/upgradepolicies/cluster", `{"spec":{"automatic":[{"type":"Reboot"}]}}`),
		change("delete the policy by an owner that does not exist", ours+"/upgradepolicies/cluster", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"u"}]}}`),
		change("write the policy's status", ours+"/upgradepolicies/cluster/status", `{"status":{"version":"v1.34.4"}}`),
		remove("delete the policy", ours+"/upgradepolicies/cluster"),
	}},
	{"Records, inventories and the coordinator's state", []try{
		read("read the records", ours+"/upgraderecords"),
		create("create a record", ours+"/upgraderecords", object("UpgradeRecord", `,"spec":{"upgrade":{"name":"n","uid":"u"},"outcome":"Succeeded","endTime":"2026-01-01T00:00:00Z","piece":1,"pieces":1}`)),
		{what: "change a record", do: http.MethodPatch, at: ours + "/upgraderecords/patch-1", with: `{"spec":{"outcome":"Failed"}}`, never: true},
		remove("delete a record", ours+"/upgraderecords/patch-1"),
		read("read what the coordinator remembers", ours+"/coordinatorstates/cluster"),
		edit("change what the coordinator remembers", ours+"/coordinatorstates/cluster", `{"takenBack":[]}`),
		remove("delete what the coordinator remembers", ours+"/coordinatorstates/cluster"),
		read("read the inventories", ours+"/nodeinventories"),
		named("write the inventory of its own node", inventoryOf("worker-1")),
		named("write the inventory of another node", inventoryOf("worker-2")),
		remove("delete an inventory", ours+"/nodeinventories/worker-2"),
	}},
	{"Slots: Leases", []try{
		read("read the slots", leases),
		named("take the slot that is reserved for its node", takes("for-1")),
		edit("free the slot that its node holds", leases+"/held-by-1", `{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":null}},"spec":{"holderIdentity":null}}`),
		edit("free the slot that its node holds, and set an owner reference on the Lease", leases+"/held-by-1",
			`{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":null},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u"}]},"spec":{"holderIdentity":null}}`),
		named("take a slot that is free", takes("free")),
		named("take the slot that is reserved for another node", takes("for-2")),
		edit("free the slot that another node holds", leases+"/held-by-2", `{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":null}},"spec":{"holderIdentity":null}}`),
		edit("reserve a slot for itself", leases+"/free", `{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":"worker-1/uid"}}}`),
		create("make one more slot", leases, `{"metadata":{"name":"new","labels":{"kubectl-upgrade.dev/slot":"true"}}}`),
		remove("delete a slot", leases+"/held-by-2"),
		edit("become the leader in place of the coordinator", leases+"/coordinator", `{"spec":{"holderIdentity":"x"}}`),
		edit("renew another node's Lease in kube-node-lease (its heartbeat)", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-2", `{"spec":{"holderIdentity":"x"}}`),
	}},
	{"Events", []try{
		create("write an event in `default`, where those of Nodes are", core+"/namespaces/default/events", event("default")),
		create("write an event in kube-system", core+"/namespaces/kube-system/events", event("kube-system")),
	}},
}

const hookJobs = "/apis/batch/v1/namespaces/kubectl-upgrade-hooks/jobs"

// job is a Job of a CronJob in world_test.go. identity.try puts the CronJob's UID in.
func job(cronJob, image string) string {
	return fmt.Sprintf(`{"metadata":{"name":"new","ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":%q,"uid":"UID","controller":true}]},"spec":{"activeDeadlineSeconds":60,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":%q}]}}}}`, cronJob, image)
}

const pod = `{"metadata":{"name":"new"},"spec":{"serviceAccountName":"coordinator","containers":[{"name":"c","image":"x"}]}}`

func read(what, at string) try { return try{what: what, do: http.MethodGet, at: at} }
func create(what, at, with string) try {
	return try{what: what, do: http.MethodPost, at: at, with: with}
}
func change(what, at, with string) try {
	return try{what: what, do: http.MethodPatch, at: at, with: with}
}
func edit(what, at, with string) try { return try{what: what, do: "EDIT", at: at, with: with} }
func remove(what, at string) try     { return try{what: what, do: http.MethodDelete, at: at} }

func named(what string, t try) try {
	t.what = what
	return t
}

func token(what, namespace, account string) try {
	return create(what, core+"/namespaces/"+namespace+"/serviceaccounts/"+account+"/token", `{"spec":{}}`)
}

func eviction(pod string) string {
	return fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":"default"},"deleteOptions":{"dryRun":["All"]}}`, pod)
}

func event(namespace string) string {
	return fmt.Sprintf(`{"metadata":{"name":"new"},"involvedObject":{"kind":"Pod","namespace":%q,"name":"x"}}`, namespace)
}

func object(kind, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":%q,"metadata":{"name":"new"}%s}`, kind, rest)
}

// statusOf writes the status of a node's NodeUpgrade, as agents do.
func statusOf(node string) try {
	return try{do: http.MethodPatch, at: ours + "/nodeupgrades/" + node + "/status?fieldManager=node-agent&force=true",
		with: fmt.Sprintf("{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: NodeUpgrade, metadata: {name: %s}, status: {step: Idle}}", node)}
}

// inventoryOf writes a node's NodeInventory, as agents do.
func inventoryOf(node string) try {
	return try{do: http.MethodPatch, at: ours + "/nodeinventories/" + node + "?fieldManager=node-agent&force=true",
		with: fmt.Sprintf(`{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: NodeInventory, metadata: {name: %s}, gatheredTime: "2026-01-02T00:00:00Z"}`, node)}
}

// takes makes worker-1 the holder of a slot.
func takes(slot string) try {
	return edit("", leases+"/"+slot, `{"spec":{"holderIdentity":"worker-1/uid"}}`)
}
