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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// What blocks holds every node, and says so everywhere. When it is mended, the
// upgrade goes on by itself. One that people ignore lets it go on, which is
// recorded. The checks are the real ones, read with the coordinator's own rights.
func TestABlockHoldsEveryNode(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		c.addPod(component, "cp1")
	}
	var freeMiB atomic.Int64
	var unread atomic.Pointer[[]string]
	c.facts = func(node string) *v1alpha1.NodeFacts { return healthy(node, freeMiB.Load()) }
	c.check = func(f preflight.Facts) []v1alpha1.Finding {
		list := f.Unread
		if f.KubeletConfig != nil && !strings.Contains(f.KubeletConfig.Problem, "not found") {
			list = append(list, f.KubeletConfig.Problem)
		}
		unread.Store(&list)
		return preflight.Check(f)
	}
	freeMiB.Store(10)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.3")
	c.coordinate("one")
	c.agent("cp1")
	c.agent("w1")
	c.eventually(c.noNodeIsAsked)
	c.eventually(c.everyNodeHasFacts)
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.everyNodeSays(v1alpha1.ReasonPreflight))
	if len(c.tally.order) != 0 {
		t.Errorf("in spite of what was found %v went out of service", c.tally.order)
	}
	u := c.upgrade("v1.34.4")
	stalled := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != "Preflight" || !strings.HasPrefix(stalled.Message, "Node cp1 has 10 MiB free ") {
		t.Errorf("the upgrade says %+v", stalled)
	}
	if f := u.Status.Findings; len(f) == 0 || f[0].ID != "disk-room" || f[0].Level != v1alpha1.LevelBlock || f[0].Object.String() != "Node/cp1" || u.Status.PreflightTime == nil {
		t.Errorf("the upgrade lists %+v", f)
	}
	if list := *unread.Load(); len(list) > 0 {
		t.Errorf("the coordinator may not read: %q", list)
	}
	c.events("v1.34.4", "Preflight")

	freeMiB.Store(10_000)
	c.eventually(c.finished("v1.34.4"))

	freeMiB.Store(20)
	c.eventually(func() string {
		inventory, err := c.ours.NodeInventories.Get(t.Context(), "cp1", metav1.GetOptions{})
		c.must(err)
		if inventory.Disks[2].FreeBytes != 20<<20 {
			return "the agent has not told of the disk"
		}
		return ""
	})
	c.index.offer("v1.34.3", "v1.34.4", "v1.34.5")
	c.eventually(c.upgradeSays("v1.34.5", v1alpha1.ReasonPreflight))
	patch := `{"spec":{"ignoreChecks":[{"id":"disk-room","reason":"a test"}]}}`
	_, err := c.ours.ClusterUpgrades.Patch(t.Context(), "v1.34.5", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
	c.eventually(c.finished("v1.34.5"))
	if f := c.upgrade("v1.34.5").Status.Findings; !slices.ContainsFunc(f, func(f v1alpha1.Finding) bool { return f.ID == "disk-room" && f.Ignored }) {
		t.Errorf("that it was ignored is not recorded: %+v", f)
	}
	c.events("v1.34.5", "Preflight", "CheckIgnored", "Finished")
}

// A node that has the last ready backend of a webhook waits, and no other one.
// It goes by itself when there is a second backend.
func TestAWebhookHoldsItsNode(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.webhook("policy")
	c.backend("policy", "w1")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.coordinate("one")
	for _, name := range []string{"cp1", "w1", "w2"} {
		c.agent(name)
	}
	c.eventually(c.upgradeSays("v1.34.4", v1alpha1.ReasonWebhookBackend))
	if order := c.tally.order; slices.Contains(order, "w1") || !slices.Contains(order, "w2") {
		t.Errorf("out of service were %v, want all but w1", order)
	}
	c.quiet()
	c.backend("policy", "w2")
	c.eventually(c.finished("v1.34.4"))
}

// healthy is what the agent of a node says on which nothing is wrong but, maybe,
// the room on its disk.
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
		return fmt.Sprintf("%d inventories for %d nodes", len(list.Items), len(nodes.Items))
	}
	return ""
}

func (c *cluster) upgrade(name string) *v1alpha1.ClusterUpgrade {
	c.Helper()
	u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	return u
}

func (c *cluster) upgradeSays(name string, reason v1alpha1.Reason) func() string {
	return func() string {
		u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if !meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled) || meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionStalled).Reason != string(reason) {
			return fmt.Sprintf("upgrade %s says %+v", name, u.Status.Conditions)
		}
		return ""
	}
}

// webhook makes one that is asked about objects that do not exist here.
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
