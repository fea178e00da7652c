package whole

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// gpuNode returns a node with one part of each kind, and a taint.
func gpuNode() Seen {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1", Labels: map[string]string{"gpu": "a100"}}}
	node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("8"), "attachable-volumes-csi": resource.MustParse("8"), "kubernetes.io/x": resource.MustParse("1"),
		"nvidia.com/gpu": resource.MustParse("8"), "hugepages-2Mi": resource.MustParse("4Gi"), "hugepages-1Gi": resource.MustParse("0"),
	}
	return Seen{
		Node:    node,
		CSINode: &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com"}}}},
		Pods:    []corev1.Pod{podOf("kube-system", "gpu", true), podOf("kube-system", "broken", false), podOf(v1alpha1.Namespace, "node-agent", true), {}},
		Plugins: []string{"csi.example.com", "another.example.com"},
		Merged:  []string{"docker"},
	}
}

func podOf(namespace, set string, ready bool) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set + "-x"}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set, Controller: ptr.To(true)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]}}
	return pod
}

var waitsForAll = v1alpha1.DefaultStrategy().Whole

func TestParts(t *testing.T) {
	want := &v1alpha1.NodeParts{
		Resources: []v1alpha1.NodeResource{{Name: "hugepages-2Mi", Allocatable: 4 << 30}, {Name: "nvidia.com/gpu", Allocatable: 8}},
		Drivers:   []string{"csi.example.com"}, ServingDrivers: []string{"csi.example.com"}, DaemonSets: []string{"kube-system/gpu"}, Extensions: []string{"docker"}, Taints: []string{"gpu:NoSchedule"},
	}
	if diff := cmp.Diff(want, Parts(gpuNode())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&v1alpha1.NodeParts{}, Parts(Seen{Node: &corev1.Node{}})); diff != "" {
		t.Error(diff)
	}
}

// TestPartsAreBounded checks that a node with any number of parts can be written down.
func TestPartsAreBounded(t *testing.T) {
	s := gpuNode()
	for i := range 1000 {
		name := fmt.Sprintf("x%d", i)
		s.Node.Status.Allocatable[corev1.ResourceName("example.com/"+name)] = resource.MustParse("1")
		s.CSINode.Spec.Drivers = append(s.CSINode.Spec.Drivers, storagev1.CSINodeDriver{Name: name})
		s.Pods = append(s.Pods, podOf("default", name, true), podOf("default", name, true))
		s.Merged = append(s.Merged, name)
		s.Node.Spec.Taints = append(s.Node.Spec.Taints, corev1.Taint{Key: name, Effect: corev1.TaintEffectNoExecute})
	}
	parts := Parts(s)
	for _, n := range []int{len(parts.Resources), len(parts.Drivers), len(parts.DaemonSets), len(parts.Extensions), len(parts.Taints)} {
		if n != MaxParts {
			t.Errorf("%d items, want %d", n, MaxParts)
		}
	}
	if diff := cmp.Diff(Missing{}, Compare(parts, s, waitsForAll)); diff != "" {
		t.Errorf("the same node lacks:\n%s", diff)
	}
}

// TestCompare checks each part: whether it is missing, and that it is not looked for if it is ignored.
func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Seen)
		ignores func(*v1alpha1.Whole)
		want    []string
	}{
		"the same":                     {func(*Seen) {}, nil, nil},
		"no resource":                  {func(s *Seen) { delete(s.Node.Status.Allocatable, "nvidia.com/gpu") }, func(w *v1alpha1.Whole) { w.Resources = v1alpha1.PartIgnore }, []string{"nvidia.com/gpu 0 of 8"}},
		"some of it":                   {func(s *Seen) { s.Node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("7") }, nil, []string{"nvidia.com/gpu 7 of 8"}},
		"more of it":                   {func(s *Seen) { s.Node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("9") }, nil, nil},
		"huge pages":                   {func(s *Seen) { s.Node.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("2Gi") }, nil, []string{"hugepages-2Mi 2Gi of 4Gi"}},
		"no CPU":                       {func(s *Seen) { delete(s.Node.Status.Allocatable, "cpu") }, nil, nil},
		"no CSINode":                   {func(s *Seen) { s.CSINode = nil }, func(w *v1alpha1.Whole) { w.Drivers = v1alpha1.PartIgnore }, []string{"driver csi.example.com"}},
		"a driver that does not serve": {func(s *Seen) { s.Plugins = nil }, func(w *v1alpha1.Whole) { w.Drivers = v1alpha1.PartIgnore }, []string{"driver csi.example.com"}},
		"no pod":                       {func(s *Seen) { s.Pods = nil }, func(w *v1alpha1.Whole) { w.DaemonSets = v1alpha1.PartIgnore }, []string{"DaemonSet kube-system/gpu"}},
		"a pod that is not":            {func(s *Seen) { s.Pods[0] = podOf("kube-system", "gpu", false) }, nil, []string{"DaemonSet kube-system/gpu"}},
		"a pod that ends":              {func(s *Seen) { s.Pods[0].DeletionTimestamp = &metav1.Time{} }, nil, []string{"DaemonSet kube-system/gpu"}},
		"not merged":                   {func(s *Seen) { s.Merged, s.Unmerged = nil, []string{"docker", "new"} }, func(w *v1alpha1.Whole) { w.Extensions = v1alpha1.PartIgnore }, []string{"extension docker"}},
		"an extension was gone":        {func(s *Seen) { s.Merged = nil }, nil, nil},
		"what is new": {func(s *Seen) {
			s.CSINode.Spec.Drivers = append(s.CSINode.Spec.Drivers, storagev1.CSINodeDriver{Name: "new"})
			s.Pods, s.Merged = append(s.Pods, podOf("default", "new", false)), append(s.Merged, "new")
		}, nil, nil},
	} {
		before, now, of := Parts(gpuNode()), gpuNode(), waitsForAll
		test.change(&now)
		if diff := cmp.Diff(test.want, Compare(before, now, of).Texts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if test.ignores == nil {
			continue
		}
		if test.ignores(&of); len(Compare(before, now, of).Texts()) > 0 {
			t.Errorf("%s: it is looked for although it is ignored", name)
		}
	}
}

// TestRemoved checks that what was removed is not missing any more, and nothing else.
func TestRemoved(t *testing.T) {
	m := Missing{Drivers: []string{"a", "b"}, DaemonSets: []string{"x/a", "x/b"}}
	want := []string{"driver b", "DaemonSet x/a"}
	if diff := cmp.Diff(want, m.WithoutDriver("a").WithoutDaemonSet("x/b").Texts()); diff != "" {
		t.Error(diff)
	}
}

func TestKeptOut(t *testing.T) {
	unavailable := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue}
	taints := func(taints ...corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taints...) }
	}
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   []string
	}{
		"what was there":    {func(*corev1.Node) {}, nil},
		"no taint any more": {func(n *corev1.Node) { n.Spec.Taints = nil }, nil},
		"a taint of others": {taints(corev1.Taint{Key: "late", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "late", Effect: corev1.TaintEffectNoExecute}),
			[]string{"taint late:NoExecute", "taint late:NoSchedule"}},
		"one that only advises": {taints(corev1.Taint{Key: "late", Effect: corev1.TaintEffectPreferNoSchedule}), nil},
		"the cordon":            {taints(corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}), nil},
		"another value":         {func(n *corev1.Node) { n.Spec.Taints[0].Value = "x" }, nil},
		"no network":            {func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{unavailable} }, []string{"condition NetworkUnavailable"}},
	} {
		before, node := Parts(gpuNode()), gpuNode().Node
		test.change(node)
		if diff := cmp.Diff(test.want, KeptOut(before, node, waitsForAll)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := KeptOut(before, node, v1alpha1.Whole{Taints: v1alpha1.PartIgnore, Network: v1alpha1.PartIgnore}); got != nil {
			t.Errorf("%s: %v holds although it is ignored", name, got)
		}
		if again := Parts(Seen{Node: node}); KeptOut(again, node, waitsForAll) != nil {
			t.Errorf("%s: it holds although it was there before", name)
		}
	}
}

func TestWants(t *testing.T) {
	set := func(change func(*corev1.PodSpec)) *appsv1.DaemonSet {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "gpu"}}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		change(&set.Spec.Template.Spec)
		return set
	}
	requires := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*corev1.PodSpec) {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
		return func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
		}
	}
	tolerates := func(none []corev1.Toleration) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Tolerations = none }
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		taint  corev1.Taint
		gone   bool // its pod
		want   bool
	}{
		"any":                          {func(*corev1.PodSpec) {}, corev1.Taint{}, true, true},
		"nodes with a label":           {func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"gpu": "a100"} }, corev1.Taint{}, true, true},
		"nodes with another label":     {func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"gpu": "t4"} }, corev1.Taint{}, false, false},
		"an affinity that matches":     {requires("gpu", corev1.NodeSelectorOpIn, "a100"), corev1.Taint{}, true, true},
		"one that does not":            {requires("gpu", corev1.NodeSelectorOpDoesNotExist), corev1.Taint{}, false, false},
		"one that nobody understands":  {requires("gpu", "Later"), corev1.Taint{}, false, true},
		"another node":                 {func(p *corev1.PodSpec) { p.NodeName = "gpu-2" }, corev1.Taint{}, false, false},
		"no pod comes":                 {tolerates(nil), corev1.Taint{}, true, false},
		"the pod stays":                {tolerates(nil), corev1.Taint{}, false, true},
		"the pod ends":                 {func(*corev1.PodSpec) {}, corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute}, false, false},
		"the node is cordoned":         {func(*corev1.PodSpec) {}, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, true, true},
		"a network that is not there":  {func(*corev1.PodSpec) {}, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}, true, false},
		"in the network of the node":   {func(p *corev1.PodSpec) { p.HostNetwork = true }, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}, true, true},
		"a taint that ends by itself":  {func(*corev1.PodSpec) {}, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}, true, true},
		"a taint that is not an error": {func(*corev1.PodSpec) {}, corev1.Taint{Key: "x", Effect: corev1.TaintEffectPreferNoSchedule}, true, true},
	} {
		s := gpuNode()
		s.Node.Spec.Taints = append(s.Node.Spec.Taints, test.taint)
		if test.gone {
			s.Pods = nil
		}
		if got := s.Wants(set(test.change)); got != test.want {
			t.Errorf("%s: wanted %t, want %t", name, got, test.want)
		}
	}
}
