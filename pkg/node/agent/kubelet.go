package agent

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// kubeletSense knows the Node, and what the kubelet says of itself.
type kubeletSense struct {
	*Config
	nodes        cache.SharedIndexInformer
	written      nodeWrite
	uncordoned   bool // this agent has removed the Node's marks, and has not freed its slot or cordoned since
	registration registrationView
	lease        leaseView
	shown        conditionsView
}

func (k *kubeletSense) watch(wakeUp func()) {
	k.nodes = kube.Informer(k.Kubelet.Nodes(), &corev1.Node{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, k.Node).String()
	})
	watched(k.nodes, wakeUp)
}

// add adds what is known of the kubelet beside the Node.
func (k *kubeletSense) add(ctx context.Context, r *round) {
	if r.node == nil {
		return
	}
	k.readLease(ctx, r)
	if r.Host != nil {
		k.checkRegistration(ctx, r)
	}
}

func nodeOf(node *corev1.Node) machine.Node {
	seen := machine.Node{
		Unschedulable:  node.Spec.Unschedulable,
		OnHold:         rules.Label(node.Labels).Holds(),
		SlotMark:       node.Annotations[v1alpha1.SlotAnnotation],
		KubeletVersion: node.Status.NodeInfo.KubeletVersion,
		BootID:         node.Status.NodeInfo.BootID,
	}
	_, seen.OurCordon = node.Annotations[v1alpha1.CordonAnnotation]
	_, seen.GuardReport = node.Annotations[v1alpha1.GuardAnnotation]
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			seen.Ready, seen.ReadySince = condition.Status == corev1.ConditionTrue, condition.LastTransitionTime.Time
		}
	}
	return seen
}

func ownerOf(node *corev1.Node) clusterstate.Owner {
	return clusterstate.Owner{Node: node.Name, UID: string(node.UID)}
}

// registrationAge is how long the answer to a dry run counts.
const registrationAge = 10 * time.Second

// registrationView is the last answer to what the kubelet writes to its Node.
type registrationView struct {
	at      time.Time
	problem string
}

// checkRegistration tries, as dry runs, what a kubelet writes to its Node after its start,
// while it has not done so: an admission webhook may refuse it, and only the kubelet's own
// log would say so.
func (k *kubeletSense) checkRegistration(ctx context.Context, r *round) {
	if !machine.AwaitsKubelet(r.state, r.Observation) {
		k.registration = registrationView{}
		return
	}
	if r.Now.Sub(k.registration.at) >= registrationAge {
		k.registration.at, k.registration.problem = r.Now, ""
		if err := k.registrationRefused(ctx); err != nil {
			k.registration.problem = err.Error()
		}
	}
	r.KubeletRefused = k.registration.problem
}

// registrationRefused returns the API server's answer if it refuses one of the dry runs. A
// Node that exists already is no refusal, and neither is an API server that does not answer.
func (k *kubeletSense) registrationRefused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	nodes, dryRun := k.Kubelet.Nodes(), []string{metav1.DryRunAll}
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.Node}}, metav1.CreateOptions{DryRun: dryRun})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = nodes.Patch(ctx, k.Node, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun}, "status")
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return nil // no answer
	}
	return err
}

const (
	// leaseAge is how long an answer about the kubelet's Lease counts: a kubelet renews it as
	// often.
	leaseAge = 10 * time.Second
	// leaseLasts is how long a renewal counts, unless the Lease says so: the default of
	// KubeletConfiguration's nodeLeaseDurationSeconds.
	leaseLasts = 40 * time.Second
)

// leaseView is what was last read of the kubelet's Lease.
type leaseView struct {
	machine.Lease
	readAt time.Time // the last attempt; zero: there was none
}

// readLease reads the Lease that the kubelet renews, while machine needs it. A kubelet may get its
// own Lease, and may not watch it (authorizeLease in plugin/pkg/auth/authorizer/node, v1.34.3).
func (k *kubeletSense) readLease(ctx context.Context, r *round) {
	if !machine.NeedsLease(r.state, r.Observation) {
		k.lease = leaseView{}
		return
	}
	seen := &k.lease
	if age := r.Now.Sub(seen.readAt); age >= leaseAge || age < 0 || r.Now.Sub(seen.RenewedAt) > seen.Lasts {
		k.askForLease(ctx, r.Now)
	}
	r.Lease = &seen.Lease
}

func (k *kubeletSense) askForLease(ctx context.Context, now time.Time) {
	seen := &k.lease
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	lease, err := k.Kubelet.Leases(corev1.NamespaceNodeLease).Get(ctx, k.Node, metav1.GetOptions{})
	if seen.readAt = now; err != nil && !apierrors.IsNotFound(err) {
		seen.ReadSince = time.Time{}
		k.Log.DebugContext(ctx, "reading the kubelet's Lease", "node", k.Node, "error", err)
		return
	}
	if seen.ReadSince.IsZero() {
		seen.ReadSince = now
	}
	if err != nil {
		return // a kubelet that works creates it again
	}
	seen.Lasts = cmp.Or(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second, leaseLasts)
	if renewed := lease.Spec.RenewTime; renewed != nil {
		seen.RenewedAt = renewed.Time
	}
}
