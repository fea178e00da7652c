package cli_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// madeUpObjects are what invocations find on the cluster.
const madeUpObjects = `
kind: UpgradePolicy
metadata: {name: cluster}
spec: {mode: Manage, source: {url: "IMAGES/", transportPolicy: AllowHTTP}, gates: [{name: a, prometheus: {url: "http://127.0.0.1:1", query: up, expect: Empty}}]}
---
kind: Node
metadata: {name: cp1, labels: {node-role.kubernetes.io/control-plane: ""}}
status: {nodeInfo: {kubeletVersion: v1.34.4, architecture: amd64, operatingSystem: linux, bootID: "", containerRuntimeVersion: "", kernelVersion: "", kubeProxyVersion: "", machineID: "", osImage: "", systemUUID: ""}, conditions: [{type: Ready, status: "True"}]}
---
kind: Node
metadata: {name: w1, labels: {pool: db}}
status: {nodeInfo: {kubeletVersion: v1.34.4, architecture: amd64, operatingSystem: linux, bootID: "", containerRuntimeVersion: "", kernelVersion: "", kubeProxyVersion: "", machineID: "", osImage: "", systemUUID: ""}, conditions: [{type: Ready, status: "False"}]}
---
kind: Pod
metadata: {name: kube-apiserver-cp1, namespace: kube-system, labels: {component: kube-apiserver}, annotations: {kubernetes.io/config.source: file, kubernetes.io/config.mirror: a}, ownerReferences: [{apiVersion: v1, kind: Node, name: cp1, uid: a, controller: true}]}
spec: {nodeName: cp1, containers: [{name: kube-apiserver, image: "registry.k8s.io/kube-apiserver:v1.34.4"}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: NodeUpgrade
metadata: {name: cp1}
status: {step: Idle, observedGeneration: 1, versions: {kubelet: v1.34.4, controlPlane: v1.34.4, kubeadm: v1.34.4}}
---
kind: NodeUpgrade
metadata: {name: w1}
status: {step: Failed, stepStartTime: "2026-01-01T00:00:00Z", observedGeneration: 1, versions: {kubelet: v1.34.4}, conditions: [{type: UpToDate, status: "False", reason: RebootFailed, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
---
kind: ClusterUpgrade
metadata: {name: v1.35.4}
spec: {version: v1.35.4, strategy: {approval: Required, groups: [{name: canary, nodeSelector: {matchLabels: {pool: db}}, approval: Required}]}}
---
kind: ClusterUpgrade
metadata: {name: a}
spec: {version: v1.34.4}
status: {type: Patch, outcome: Succeeded, fromVersion: v1.34.3, triggerTime: "2026-01-01T00:00:00Z", endTime: "2026-01-01T01:00:00Z", nodes: {total: 2, done: 2, active: 0, blocked: 0, unsupported: 0, waiting: 0}}
---
kind: MaintenanceSchedule
metadata: {name: a}
spec: {maintenanceExclusions: [{name: a, startTime: "2026-01-01T00:00:00Z", endTime: "2099-01-01T00:00:00Z", comment: a reason, upgradeTypes: [Reboot]}]}
---
kind: MaintenanceSchedule
metadata: {name: nights}
spec: {maintenanceWindows: [{name: w, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-03T05:00:00Z", recurrence: FREQ=DAILY}]}
`

// madeUpWorkloads are kured and FLUO, in a file and on the cluster.
const madeUpWorkloads = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kured, namespace: default}
spec:
  selector: {matchLabels: {name: kured}}
  template:
    metadata: {labels: {name: kured}}
    spec: {containers: [{name: kured, image: "ghcr.io/kubereboot/kured:1.17.0", command: [/usr/bin/kured, --reboot-days=mon, --start-time=2am, --end-time=5am, --time-zone=UTC]}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: flatcar-linux-update-agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: update-agent, image: "ghcr.io/flatcar/flatcar-linux-update-operator:v0.10.0", command: [/bin/update-agent, --grace-period=300]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: flatcar-linux-update-operator, namespace: default}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: update-operator, image: "ghcr.io/flatcar/flatcar-linux-update-operator:v0.10.0", command: [/bin/update-operator, "--reboot-window-start=Thu 23:00", --reboot-window-length=1h30m]}]}
`

// madeUpCluster is the cluster of the invocations. It is the same again before each.
type madeUpCluster struct {
	config  *rest.Config
	client  dynamic.Interface
	server  rest.Interface
	objects string            // in YAML
	stored  map[string]string // the version of each object that the plugin may change, by kind and name
}

func newMadeUpCluster(t *testing.T, config *rest.Config) *madeUpCluster {
	t.Helper()
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, version := range []string{"v1.34.4", "v1.34.5", "v1.35.4"} {
			_, _ = w.Write([]byte(strings.Repeat("0", 64) + "  kubernetes-" + version + "-x86-64.raw\n"))
		}
	}))
	t.Cleanup(images.Close)
	apitest.InstallCRDs(t, config)
	config.QPS = -1
	c := &madeUpCluster{
		config: config, client: dynamic.NewForConfigOrDie(config), server: kubernetes.NewForConfigOrDie(config).RESTClient(),
		objects: strings.ReplaceAll(madeUpObjects, "IMAGES", images.URL),
	}
	removeObjects(t, config)
	must(t, createObjects(config, c.objects))
	c.createWorkloads(t)
	t.Cleanup(func() { c.remove(t) })
	c.stored = c.versions(t)
	return c
}

// remove removes what later tests on the same API server must not find.
func (c *madeUpCluster) remove(t *testing.T) {
	t.Helper()
	removeObjects(t, c.config)
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		workloads := c.client.Resource(changeable[kind]).Namespace(metav1.NamespaceDefault)
		must(t, workloads.DeleteCollection(context.Background(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}))
	}
}

// changeable are the kinds that the plugin may change.
var changeable = map[string]schema.GroupVersionResource{
	"MaintenanceSchedule": v1alpha1.MaintenanceSchedules, "UpgradePolicy": v1alpha1.UpgradePolicies, "ClusterUpgrade": v1alpha1.ClusterUpgrades, "NodeUpgrade": v1alpha1.NodeUpgrades,
	"Node": kinds["Node"], "DaemonSet": appsv1.SchemeGroupVersion.WithResource("daemonsets"), "Deployment": appsv1.SchemeGroupVersion.WithResource("deployments"),
}

// createWorkloads creates those of madeUpWorkloads that there are not.
func (c *madeUpCluster) createWorkloads(t *testing.T) {
	t.Helper()
	for document := range strings.SplitSeq(madeUpWorkloads, "---\n") {
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(document), &object.Object))
		_, err := c.client.Resource(changeable[object.GetKind()]).Namespace(metav1.NamespaceDefault).Create(t.Context(), object, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			must(t, err)
		}
	}
}

// versions returns the version of each object that the plugin may change.
func (c *madeUpCluster) versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for kind, resource := range changeable {
		list, err := c.client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, object := range list.Items {
			found[kind+" "+object.GetName()] = string(object.GetUID()) + " " + object.GetResourceVersion()
		}
	}
	return found
}

// check checks that only verbs that change objects have changed some, and not by a dry run. Then
// it makes the objects anew.
func (c *madeUpCluster) check(t *testing.T, wrong func(string, ...any), args []string) {
	t.Helper()
	found := c.versions(t)
	if maps.Equal(found, c.stored) {
		return
	}
	dry := slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"--dry-run", "--dry-run=client", "--dry-run=server"}, arg)
	})
	if dry || !slices.Contains([]string{"apply", "rollback", "reboot", "certificates", "freeze", "unfreeze", "block", "unblock", "suspend", "resume", "approve", "abandon", "migrate"}, args[0]) {
		wrong("changed the cluster from %v to %v", c.stored, found)
	}
	for object, version := range found {
		if c.stored[object] == version {
			continue
		}
		kind, name, _ := strings.Cut(object, " ")
		namespace := metav1.NamespaceAll
		if changeable[kind].Group == appsv1.GroupName {
			namespace = metav1.NamespaceDefault
		}
		must(t, c.client.Resource(changeable[kind]).Namespace(namespace).Delete(t.Context(), name, *metav1.NewDeleteOptions(0)))
	}
	must(t, createObjects(c.config, c.objects)) // what there is stays as it is
	c.createWorkloads(t)
	c.stored = c.versions(t)
}
