package rebootmanager

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func daemonSet(lock, image string, scheduled int32) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ds"}}
	if lock != "" {
		d.Annotations = map[string]string{kuredLock: lock}
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	d.Spec.Template.Spec.HostPID = true
	d.Status.UpdatedNumberScheduled = scheduled
	return d
}

func node(annotations ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Annotations: map[string]string{}, Labels: map[string]string{fluoPrefix + "id": "flatcar"}}}
	for _, one := range annotations {
		key, value, _ := strings.Cut(one, "=")
		n.Annotations[key] = value
	}
	return n
}

// The locks are as kured writes them, without and with --concurrency; the marks
// as FLUO does.
func TestActive(t *testing.T) {
	const fluoAgent = "ghcr.io/flatcar/flatcar-linux-update-operator:v0.10.0-rc3"
	for _, test := range []struct {
		name      string
		node      *corev1.Node
		daemonSet *appsv1.DaemonSet
		want      string // the begin of what is said
	}{
		{"none", node(), daemonSet("", "cni", 3), ""},
		{"kured without a lock", node(), daemonSet("", "ghcr.io/kubereboot/kured:1.20.0", 3), ""},
		{"kured's lock", node(), daemonSet(`{"nodeID":"w2","metadata":{"unschedulable":false},"created":"2026-11-21T10:00:00Z","TTL":0}`, "kured", 3), "kured holds its lock for node w2, taken 2026-11-21 10:00 UTC "},
		{"kured's lock has run out", node(), daemonSet(`{"nodeID":"w2","created":"2020-11-21T10:00:00Z","TTL":1000000000}`, "kured", 3), "kured holds its lock for node w2, taken 2020-11-21 10:00 UTC "},
		{"kured's locks", node(), daemonSet(`{"maxOwners":2,"locks":[{"nodeID":"w2"},{"nodeID":"w3"}]}`, "kured", 3), "kured holds its lock for node w2, w3 "},
		{"kured's locks, none held", node(), daemonSet(`{"maxOwners":2,"locks":[]}`, "kured", 3), ""},
		{"kured's locks, none left", node(), daemonSet(`{"maxOwners":2,"locks":null}`, "kured", 3), ""},
		{"a lock that names no node", node(), daemonSet(`{}`, "kured", 3), "kured holds its lock for an unknown node (the lock names none)"},
		{"a lock that cannot be read", node(), daemonSet(`w2`, "kured", 3), "kured holds its lock for an unknown node (the lock cannot be parsed)"},

		{"FLUO runs", node(fluoNeeded + "=false"), daemonSet("", fluoAgent, 3), "FLUO may reboot node w1 (DaemonSet kube-system/ds)"},
		{"FLUO runs, and is paused", node(fluoPaused + "=true"), daemonSet("", fluoAgent, 3), ""},
		{"FLUO is there and runs nowhere", node(fluoNeeded + "=false"), daemonSet("", fluoAgent, 0), ""},
		{"FLUO was removed", node(fluoNeeded+"=false", fluoInProgress+"=false", fluoOK+"=false"), daemonSet("", "cni", 3), ""},
		{"FLUO is about to", node(fluoNeeded + "=true"), daemonSet("", "cni", 3), "FLUO is about to reboot node w1 "},
		{"FLUO would, and is paused", node(fluoNeeded+"=true", fluoPaused+"=true"), daemonSet("", "cni", 3), ""},
		{"FLUO does, paused too late", node(fluoOK+"=true", fluoPaused+"=true"), daemonSet("", "cni", 3), "FLUO reboots node w1 "},
	} {
		got := Active([]*corev1.Node{test.node}, []*appsv1.DaemonSet{test.daemonSet}, nil)
		switch {
		case test.want == "" && len(got) > 0:
			t.Errorf("%s: %s", test.name, got[0].Message)
		case test.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Message, test.want)):
			t.Errorf("%s: got %v, want %q", test.name, got, test.want)
		}
	}
}

// TestOnlyKuredCounts checks that a DaemonSet which only looks like kured holds nothing: any
// client that may create one in some namespace could stop every upgrade. What counts is that its
// pods run and reach their nodes, that the policy names it, or that the node of its lock is away.
func TestOnlyKuredCounts(t *testing.T) {
	const held = `{"nodeID":"w1","created":"2026-11-21T10:00:00Z"}`
	kured := func(change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
		d := daemonSet(held, "ghcr.io/kubereboot/kured:1.21.0", 3)
		d.Generation, d.Status.ObservedGeneration = 2, 2
		for _, one := range change {
			one(d)
		}
		return d
	}
	apart := func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.HostPID = false }
	nowhere := func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 0 }
	unseen := func(d *appsv1.DaemonSet) { d.Generation = 3 }
	mounts := func(d *appsv1.DaemonSet) {
		apart(d)
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	}
	configures := func(d *appsv1.DaemonSet) {
		d.Annotations = nil
		d.Spec.Template.Spec.Containers[0].Args = []string{"--lock-annotation=example.com/note"}
	}
	noted := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", Annotations: map[string]string{"example.com/note": "ours", kuredLock: held}}}
	settings := kured(func(d *appsv1.DaemonSet) {
		d.Annotations = nil
		d.Spec.Template.Spec.Containers[0].Args = []string{"--ds-namespace=shop", "--ds-name=cart"}
	})
	cordoned := node()
	cordoned.Spec.Unschedulable = true
	ours := node(v1alpha1.CordonAnnotation+"=u", v1alpha1.SlotAnnotation+"=slot-0")
	ours.Spec.Unschedulable = true
	marked := node(v1alpha1.SlotAnnotation + "=slot-0")
	marked.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	restarts := node()
	restarts.UID, restarts.Status.Conditions = "1", marked.Status.Conditions
	former := restarts.DeepCopy()
	former.UID = "2"
	slots := []clusterstate.Slot{{Name: "slot-0", Holder: clusterstate.Owner{Node: "w1", UID: "1"}}}
	named := []v1alpha1.DaemonSetReference{{Namespace: "kube-system", Name: "ds"}}
	for _, test := range []struct {
		name  string
		sets  []*appsv1.DaemonSet
		node  *corev1.Node
		named []v1alpha1.DaemonSetReference
		want  int
	}{
		{"kured", []*appsv1.DaemonSet{kured()}, node(), nil, 1},
		{"kured with the host's files", []*appsv1.DaemonSet{kured(mounts)}, node(), nil, 1},
		{"kured's lock and image, apart from the host", []*appsv1.DaemonSet{kured(apart)}, node(), nil, 0},
		{"no pod of it runs: admission refuses them, or no node matches", []*appsv1.DaemonSet{kured(nowhere)}, node(), nil, 0},
		{"changed a moment ago", []*appsv1.DaemonSet{kured(unseen)}, node(), nil, 0},
		{"its pods are being replaced, and its node is away", []*appsv1.DaemonSet{kured(nowhere)}, cordoned, nil, 1},
		{"our own cordon", []*appsv1.DaemonSet{kured(nowhere)}, ours, nil, 0},
		{"NotReady while we reboot it", []*appsv1.DaemonSet{kured(nowhere)}, marked, nil, 0},
		{"NotReady while it holds a slot", []*appsv1.DaemonSet{kured(nowhere)}, restarts, nil, 0},
		{"NotReady, and a former node of its name holds a slot", []*appsv1.DaemonSet{kured(nowhere)}, former, nil, 1},
		{"our own cordon, and kured runs", []*appsv1.DaemonSet{kured()}, ours, nil, 1},
		{"the policy names it", []*appsv1.DaemonSet{kured(apart, nowhere)}, node(), named, 1},
		{"the policy names another", []*appsv1.DaemonSet{kured(apart, nowhere)}, node(), []v1alpha1.DaemonSetReference{{Namespace: "shop", Name: "ds"}}, 0},
		{"an argument that makes a note the lock", []*appsv1.DaemonSet{kured(apart, configures), noted}, node(), nil, 0},
		{"another's DaemonSet has the lock's annotation", []*appsv1.DaemonSet{kured(func(d *appsv1.DaemonSet) { d.Annotations = nil }), noted}, node(), nil, 0},
		{"the one that kured's settings name", []*appsv1.DaemonSet{settings, noted}, node(), nil, 1},
		{"FLUO's image, apart from the host", []*appsv1.DaemonSet{kured(apart, func(d *appsv1.DaemonSet) {
			d.Annotations, d.Spec.Template.Spec.Containers[0].Image = nil, "evil/"+fluoImage
		})}, node(), nil, 0},
	} {
		got := Active([]*corev1.Node{test.node}, test.sets, test.named, slots...)
		if len(got) != test.want {
			t.Errorf("%s: %d managers, want %d: %+v", test.name, len(got), test.want, got)
		}
		if test.want == 1 && len(got) == 1 && (got[0].Since == nil || !strings.Contains(got[0].Message, ", taken 2026-11-21 10:00 UTC (annotation weave.works/kured-node-lock of DaemonSet ")) {
			t.Errorf("%s: %+v", test.name, got[0])
		}
	}
}

// TestOfFormerPods checks that only a pod which the DaemonSet controls and which reaches its node
// shows that kured runs: any client that may edit pods can give them its labels.
func TestOfFormerPods(t *testing.T) {
	kured := daemonSet(`{"nodeID":"w2"}`, "ghcr.io/kubereboot/kured:1.21.0", 0)
	kured.UID = "uid"
	pod := func(uid types.UID, hostPID bool) corev1.Pod {
		owner := kured.DeepCopy()
		owner.UID = uid
		p := corev1.Pod{Spec: corev1.PodSpec{HostPID: hostPID}}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		return p
	}
	for name, test := range map[string]struct {
		set  *appsv1.DaemonSet
		pods []corev1.Pod
		want int
	}{
		"no pod":            {kured, nil, 0},
		"its pod":           {kured, []corev1.Pod{pod("other", true), pod("uid", true)}, 1},
		"apart of the host": {kured, []corev1.Pod{pod("uid", false)}, 0},
		"another's pod":     {kured, []corev1.Pod{pod("other", true)}, 0},
		"another DaemonSet": {&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}, []corev1.Pod{pod("uid", true)}, 0},
	} {
		sets := []*appsv1.DaemonSet{test.set}
		got := OfFormerPods(sets, test.pods)
		if len(got) != test.want {
			t.Errorf("%s: %v, want %d", name, got, test.want)
		}
		if active := Active([]*corev1.Node{node()}, sets, got); len(active) != test.want {
			t.Errorf("%s: active are %+v, want %d", name, active, test.want)
		}
		if held := LockHeld(sets); held != (test.set == kured) {
			t.Errorf("%s: a lock is held: %t", name, held)
		}
	}
}
