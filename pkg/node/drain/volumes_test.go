package drain

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// attachment returns the VolumeAttachment of a volume whose handle is also its PersistentVolume's
// name.
func attachment(handle string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: attachmentName(handle, "csi.example", "worker")},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "csi.example", NodeName: "worker", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(handle)}},
	}
}

// claim returns one that is bound to the volume v.
func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"}}
}

func uses(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
}

func ephemeral(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
}

// TestAttached checks which volumes are waited for.
func TestAttached(t *testing.T) {
	const v, w = "kubernetes.io/csi/csi.example^v", "kubernetes.io/csi/csi.example^w"
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daemons"}}
	for name, test := range map[string]struct {
		listed    []string
		waitedFor []string
		objects   []runtime.Object
		rules     []v1alpha1.DrainRule
		want      []string
	}{
		"nothing is attached":                            {},
		"a volume of a pod that has gone":                {listed: []string{w, v}, objects: []runtime.Object{attachment("v"), attachment("w")}, want: []string{v, w}},
		"a volume that is listed only":                   {listed: []string{v}},
		"a volume that is listed only, beside another":   {listed: []string{v, w}, objects: []runtime.Object{attachment("w")}, want: []string{w}},
		"a volume whose detachment has begun":            {waitedFor: []string{v, w}, objects: []runtime.Object{attachment("v")}, want: []string{v}},
		"a volume that is detached":                      {waitedFor: []string{v}},
		"a volume that nobody attaches":                  {listed: []string{"kubernetes.io/iscsi/10.0.0.1:3260:iqn:0"}},
		"the volume of a DaemonSet's pod":                {listed: []string{v}, objects: []runtime.Object{attachment("v"), claim("c"), pod("d", ownedBy("DaemonSet", "daemons"), uses("c"))}},
		"that of a pod that has ended":                   {listed: []string{v}, objects: []runtime.Object{attachment("v"), claim("c"), pod("d", labelled("stay"), finishedPod, uses("c"))}, rules: rules, want: []string{v}},
		"that of a pod that a rule skips":                {listed: []string{v}, objects: []runtime.Object{attachment("v"), claim("c"), pod("a", labelled("stay"), uses("c"))}, rules: rules},
		"an ephemeral volume of a pod that stays":        {listed: []string{v}, objects: []runtime.Object{attachment("v"), claim("a-scratch"), pod("a", labelled("stay"), ephemeral)}, rules: rules},
		"another volume than that of a pod that stays":   {listed: []string{v, w}, objects: []runtime.Object{attachment("v"), attachment("w"), claim("c"), pod("a", labelled("stay"), uses("c"))}, rules: rules, want: []string{w}},
		"a pod that stays has a claim that is not there": {listed: []string{v}, objects: []runtime.Object{attachment("v"), pod("a", labelled("stay"), uses("gone"))}, rules: rules, want: []string{v}},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}
		for _, volume := range test.listed {
			node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(volume)})
		}
		d := &Drainer{Node: "worker", Kubelet: kubetest.Of(fake.NewClientset(test.objects...)), Account: kubetest.Of(fake.NewClientset(daemons))}
		got, err := d.Attached(t.Context(), node, v1alpha1.Drain{Rules: test.rules}, test.waitedFor)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestAttachedUnread checks that an answer which is no answer is an error, and that a VolumeAttachment
// which the kubelet may not read is gone.
func TestAttachedUnread(t *testing.T) {
	var answer error
	kubelet := fake.NewClientset()
	kubelet.PrependReactor("get", "volumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
	d := &Drainer{Node: "worker", Kubelet: kubetest.Of(kubelet), Account: kubetest.Of(fake.NewClientset())}
	waitedFor := []string{"kubernetes.io/csi/csi.example^v"}
	answer = errors.New("silent")
	if got, err := d.Attached(t.Context(), &corev1.Node{}, v1alpha1.Drain{}, waitedFor); err == nil || !strings.Contains(err.Error(), "csi.example^v") {
		t.Errorf("got %v, %v", got, err)
	}
	answer = apierrors.NewForbidden(storagev1.Resource("volumeattachments"), "v", errors.New("no relationship found"))
	if got, err := d.Attached(t.Context(), &corev1.Node{}, v1alpha1.Drain{}, waitedFor); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
