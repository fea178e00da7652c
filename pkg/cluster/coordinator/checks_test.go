package coordinator_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// TestBlockingFindingHoldsEveryNode checks that a finding holds every node and is reported
// by nodes and upgrade, that the upgrade goes on when the cause is gone or a person ignores
// the check, and that this is recorded. The checks are real, and run with the coordinator's
// own rights.
func TestBlockingFindingHoldsEveryNode(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		c.addPod(component, "cp1")
	}
	c.must(kubetest.MakeKubeadmObjects(t.Context(), c.kube))
	var freeMiB atomic.Int64
	var unread atomic.Pointer[[]string]
	c.facts = func(node string) *v1alpha1.NodeFacts { return healthy(node, freeMiB.Load()) }
	c.check = func(f preflight.Facts) []v1alpha1.Finding {
		list := f.Unread
		if f.KubeletConfig != nil && f.KubeletConfig.Problem+f.KubeadmConfig.Problem != "" {
			list = append(list, f.KubeletConfig.Problem, f.KubeadmConfig.Problem)
		}
		unread.Store(&list)
		return preflight.Check(f)
	}
	freeMiB.Store(10)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.3")
	c.startCoordinator("one")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.eventually(c.noNodeHasOrder)
	c.eventually(c.everyNodeHasFacts)
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonPreflight))
	if len(c.outages.nodes()) != 0 {
		t.Errorf("%v went out of service despite the finding", c.outages.nodes())
	}
	c.eventually(c.upgradeStalledBy("v1.34.4", v1alpha1.ReasonPreflight))
	u := c.upgrade("v1.34.4")
	stalled := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != "Preflight" || !strings.HasPrefix(stalled.Message, "Node cp1 has 10 MiB free ") {
		t.Errorf("the condition Stalled is %+v, want the finding about cp1's disk", stalled)
	}
	if f := u.Status.Findings; len(f) == 0 || f[0].ID != "disk-room" || f[0].Level != v1alpha1.LevelBlock || f[0].Object.String() != "Node/cp1" || u.Status.PreflightTime == nil {
		t.Errorf("the upgrade lists the findings %+v, want disk-room of cp1 first", f)
	}
	if list := *unread.Load(); len(list) > 0 {
		t.Errorf("the coordinator could not read: %q", list)
	}
	c.awaitEvents("v1.34.4", "Preflight")

	freeMiB.Store(10_000)
	c.eventually(c.succeeded("v1.34.4"))

	freeMiB.Store(20)
	c.eventually(func() string {
		inventory, err := c.ours.NodeInventories.Get(t.Context(), "cp1", metav1.GetOptions{})
		c.must(err)
		if inventory.Disks[2].FreeBytes != 20<<20 {
			return "the inventory of cp1 does not have the new free space yet"
		}
		return ""
	})
	c.index.offer("v1.34.3", "v1.34.4", "v1.34.5")
	c.eventually(c.upgradeStalledBy("v1.34.5", v1alpha1.ReasonPreflight))
	patch := `{"spec":{"ignoreChecks":[{"id":"disk-room","comment":"a test"}]}}`
	_, err := c.ours.ClusterUpgrades.Patch(t.Context(), "v1.34.5", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
	c.eventually(c.succeeded("v1.34.5"))
	if f := c.upgrade("v1.34.5").Status.Findings; !slices.ContainsFunc(f, func(f v1alpha1.Finding) bool { return f.ID == "disk-room" && f.Ignored }) {
		t.Errorf("no finding disk-room is recorded as ignored: %+v", f)
	}
	c.awaitEvents("v1.34.5", "Preflight", "CheckIgnored", "Finished")
}

// TestWebhookHoldsNodeWithLastBackend checks that only the node with the last ready backend
// of a webhook waits, and that it begins when there is a second backend.
func TestWebhookHoldsNodeWithLastBackend(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.webhook("policy")
	c.backend("policy", "w1")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startCoordinator("one")
	for _, name := range []string{"cp1", "w1", "w2"} {
		c.startAgent(name)
	}
	c.eventually(c.upgradeStalledBy("v1.34.4", v1alpha1.ReasonWebhookBackend))
	c.eventually(c.upgraded("w2"))
	if order := c.outages.nodes(); slices.Contains(order, "w1") || !slices.Contains(order, "w2") {
		t.Errorf("out of service were %v, want all nodes but w1", order)
	}
	c.checkNoWrites()
	c.backend("policy", "w2")
	c.eventually(c.succeeded("v1.34.4"))
}

// healthy returns the facts of a healthy node. A control plane has freeMiB for backups.
func healthy(node string, freeMiB int64) *v1alpha1.NodeFacts {
	f := &v1alpha1.NodeFacts{GatheredTime: metav1.NewTime(time.Now().Truncate(time.Second)), CgroupVersion: 2, Locksmithd: "masked"}
	for _, path := range []string{preflight.ImagesDir, preflight.SnapshotsDir, preflight.BackupsDir, preflight.ContainersDir} {
		f.Disks = append(f.Disks, v1alpha1.DiskFacts{Path: path, FreeBytes: 1 << 40})
	}
	if strings.HasPrefix(node, "cp") {
		f.Disks[2].FreeBytes = freeMiB << 20
		f.Certificates = []v1alpha1.CertificateFacts{{Path: "/etc/kubernetes/pki/apiserver.crt", NotAfter: metav1.NewTime(time.Now().AddDate(1, 0, 0).Truncate(time.Second))}}
		f.Etcd = &v1alpha1.EtcdFacts{Members: []v1alpha1.EtcdMember{{Name: node, Healthy: true, Version: "3.6.5"}}}
	}
	return f
}

func (c *cluster) everyNodeHasFacts() string {
	nodes, err := c.kube.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	list, err := c.ours.NodeInventories.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	if len(list.Items) != len(nodes.Items) {
		return fmt.Sprintf("got %d inventories for %d nodes", len(list.Items), len(nodes.Items))
	}
	return ""
}

func (c *cluster) upgrade(name string) *v1alpha1.ClusterUpgrade {
	c.Helper()
	u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	return u
}

func (c *cluster) upgradeStalledBy(name string, reason v1alpha1.Reason) func() string {
	return func() string {
		u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if !meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled) || meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionStalled).Reason != string(reason) {
			return fmt.Sprintf("upgrade %s has conditions %+v, want it stalled by %s", name, u.Status.Conditions, reason)
		}
		return ""
	}
}

// webhook creates a webhook for a kind that does not exist here.
func (c *cluster) webhook(service string) {
	c.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: service}}
	configuration.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name: service + ".example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: service}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}},
		}},
	}}
	_, err := c.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(c.Context(), configuration, metav1.CreateOptions{})
	c.must(err)
}

// backend adds a ready backend of a Service.
func (c *cluster) backend(service, node string) {
	c.Helper()
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service + "-" + node, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, NodeName: &node}},
	}
	_, err := c.kube.DiscoveryV1().EndpointSlices(corev1.NamespaceDefault).Create(c.Context(), s, metav1.CreateOptions{})
	c.must(err)
}
