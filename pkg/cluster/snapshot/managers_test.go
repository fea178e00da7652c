package snapshot

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

const fluoPrefix = "flatcar-linux-update.v1.flatcar-linux.net/"

func daemonSet(lock, image string, scheduled int32) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ds"}}
	if lock != "" {
		d.Annotations = map[string]string{"weave.works/kured-node-lock": lock}
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

// kured may be told to lock by another name, and on another DaemonSet.
func TestOwnLockOfKured(t *testing.T) {
	const own = "example.com/lock"
	held := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "locks", Annotations: map[string]string{own: `{"nodeID":"w2"}`}}}
	told := func(c corev1.Container) *appsv1.DaemonSet {
		d := daemonSet("", "example/mirror", 3)
		c.Name, c.Image = "kured", "example/mirror"
		c.Args = append(c.Args, "--ds-namespace=ops")
		c.Env = append(c.Env, corev1.EnvVar{Name: "KURED_DS_NAME", Value: "locks"})
		d.Spec.Template.Spec.Containers = []corev1.Container{c}
		return d
	}
	for name, test := range map[string]struct {
		kured *appsv1.DaemonSet
		want  int
	}{
		"without being told":                    {told(corev1.Container{Args: []string{"--ds-name=locks"}}), 0},
		"as an argument":                        {told(corev1.Container{Args: []string{"--ds-name=locks", "--lock-annotation=" + own}}), 1},
		"in two arguments":                      {told(corev1.Container{Command: []string{"/usr/bin/kured", "--lock-annotation", own}}), 1},
		"as a variable":                         {told(corev1.Container{Env: []corev1.EnvVar{{Name: "KURED_LOCK_ANNOTATION", Value: own}}}), 1},
		"a variable that differs from the flag": {told(corev1.Container{Args: []string{"--lock-annotation=other"}, Env: []corev1.EnvVar{{Name: "KURED_LOCK_ANNOTATION", Value: own}}}), 1}, // since kured 1.17 it prevails
	} {
		for what, object := range map[string]any{"DaemonSet": test.kured, "trimmed DaemonSet": must(trimmed(test.kured.DeepCopy()))} {
			kured := object.(*appsv1.DaemonSet)
			if got := rebootmanager.Active(nil, []*appsv1.DaemonSet{held, kured}, nil); len(got) != test.want {
				t.Errorf("%s, %s: %v, want %d", name, what, got, test.want)
			}
		}
	}
	woken := 0
	h := new(Reader).handler(func() { woken++ })
	free := held.DeepCopy()
	free.Annotations = nil
	if h.OnUpdate(free, held); woken != 1 {
		t.Error("that the lock was taken was not reported")
	}
}

func must(object any, err error) any {
	if err != nil {
		panic(err)
	}
	return object
}

func TestForeignCordon(t *testing.T) {
	for _, test := range []struct {
		name          string
		unschedulable bool
		mark          string
		want          bool
	}{
		{"none", false, "", false}, {"ours", true, v1alpha1.CordonAnnotation, false}, {"another's", true, "", true},
	} {
		n := node(test.mark + "=u")
		n.Spec.Unschedulable = test.unschedulable
		if got := Node(n).Cordoned; got != test.want {
			t.Errorf("%s: Cordoned is %t", test.name, got)
		}
	}
}

// A pod that only bears a static pod's label is no member of etcd.
func TestStaticPods(t *testing.T) {
	yes := true
	member := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{componentLabel: etcdMember}}, Spec: corev1.PodSpec{NodeName: "cp1"}}
	defrag := member.DeepCopy()
	defrag.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: &yes}}
	var s clusterstate.Snapshot
	addStaticPods(&s, []*corev1.Pod{member, defrag})
	if etcd := s.Etcd; len(etcd) != 1 {
		t.Errorf("%d members, want 1", len(etcd))
	}
	woken := 0
	h := new(Reader).handler(func() { woken++ })
	over := member.DeepCopy()
	over.Status.Phase = corev1.PodSucceeded
	if h.OnUpdate(member, over); woken != 1 {
		t.Error("a pod that ended was not reported")
	}
}

// What makes another plan must wake the coordinator, and a heartbeat must not.
func TestEssence(t *testing.T) {
	woken := 0
	h := new(Reader).handler(func() { woken++ })
	h.OnUpdate(daemonSet("", "kured", 3), daemonSet(`{"nodeID":"w2"}`, "kured", 3))
	h.OnUpdate(node(), node(fluoPrefix+"reboot-needed=true"))
	if woken != 2 {
		t.Errorf("two changes woke it %d times", woken)
	}
	beat := node(fluoPrefix + "last-checked-time=1")
	beat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure}}
	h.OnUpdate(node(), beat)
	if h.OnUpdate(daemonSet("", "kured", 3), daemonSet("", "kured", 4)); woken != 2 {
		t.Error("what no plan looks at woke it")
	}
}
