package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// OnUncovered is what happens to a machine whose update needs more than another version.
type OnUncovered string

// What happens then.
const (
	Stop    OnUncovered = "Stop"    // nothing: the update waits for a person
	Replace OnUncovered = "Replace" // Cluster API replaces the machine
)

// OnUncoveredAnnotation on a KubeadmControlPlane or MachineDeployment is Stop or Replace. It counts more
// than the flag --on-uncovered.
const OnUncoveredAnnotation = v1alpha1.Group + "/on-uncovered"

// Extension answers the hooks.
type Extension struct {
	// Management is the management cluster.
	Management client.Client
	// Open returns a workload cluster.
	Open func(context.Context, types.NamespacedName) (workload.Cluster, error)
	// OnUncovered is what happens where no annotation says so.
	OnUncovered OnUncovered
	// Remember is told the owners whose machine has to wait, with what Cluster API asked, and with nil
	// those whose machine may go.
	Remember func(owner management.Owner, question func(context.Context) error)
	Now      func() time.Time
	Log      *slog.Logger
}

// refusal is why a machine cannot be updated now. Its text is the same as long as the reason is.
type refusal struct {
	message string
	waits   bool // it ends by itself, or as people decide in the workload cluster
}

func (r refusal) Error() string { return r.message }

func refuse(format string, args ...any) error {
	return refusal{message: fmt.Sprintf(format, args...)}
}

func wait(verdict progress.Verdict) error { return refusal{verdict.Message, true} }

// sentence returns what people are told about an error: the text of a refusal or of a Problem of a
// workload cluster. Any other error may differ from one call to the next, and goes to the log.
func (e *Extension) sentence(ctx context.Context, err error) string {
	var (
		refused refusal
		problem *workload.Problem
	)
	switch {
	case errors.As(err, &refused):
		return refused.message
	case errors.As(err, &problem):
		if problem.Err != nil {
			e.Log.WarnContext(ctx, "a workload cluster cannot be used", "cluster", problem.Cluster.String(), "error", problem.Err)
		}
		return problem.Message
	case apierrors.IsForbidden(err):
		e.Log.WarnContext(ctx, "a right is missing", "error", err)
		return "the extension lacks a right in the management cluster; its log says which"
	}
	e.Log.WarnContext(ctx, "the management cluster cannot be read or written", "error", err)
	return "the extension cannot read or write objects in the management cluster; its log says why"
}

// object is the pointer to an object of the management cluster.
type object[T any] interface {
	*T
	client.Object
}

// read reads an object that a request names.
func read[T any, P object[T]](ctx context.Context, e *Extension, kind string, asked named) (P, error) {
	name, err := asked.key()
	if err != nil {
		return nil, err
	}
	found := P(new(T))
	if err := e.Management.Get(ctx, name, found); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, refuse("there is no %s %s", kind, name)
		}
		return nil, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return found, nil
}

// cluster reads a Cluster, which must not be paused.
func (e *Extension) cluster(ctx context.Context, name types.NamespacedName) (*clusterv1.Cluster, error) {
	var cluster clusterv1.Cluster
	if err := e.Management.Get(ctx, name, &cluster); err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return nil, refuse("Cluster %s is being deleted", name)
	}
	if ptr.Deref(cluster.Spec.Paused, false) {
		return nil, refuse("Cluster %s is paused", name)
	}
	return &cluster, nil
}

// onUncovered returns what happens to machines of the owner.
func (e *Extension) onUncovered(owner management.Owner) (OnUncovered, error) {
	switch set := owner.GetAnnotations()[OnUncoveredAnnotation]; OnUncovered(set) {
	case "":
		return e.OnUncovered, nil
	case Stop, Replace:
		return OnUncovered(set), nil
	default:
		return Stop, refuse("annotation %s of %s is %q: it has to be %s or %s", OnUncoveredAnnotation, owner, set, Stop, Replace)
	}
}

// checkVersion checks that a request is about what the owner wants now.
func checkVersion(owner management.Owner, to version.Version) error {
	wanted, err := version.Parse(owner.Version)
	if err != nil {
		return refuse("the version of %s: %s", owner, err)
	}
	if wanted != to {
		return refuse("%s was changed meanwhile: it wants %s, and the request is about %s", owner, wanted, to)
	}
	return nil
}

// needsUpgrade reports whether a node needs a ClusterUpgrade to go on, as far as a look without one shows. One
// that is at work, has the version or can have none does not.
func needsUpgrade(v progress.Verdict) bool {
	return v.Reason == v1alpha1.ReasonNoUpgrade || v.State == progress.Stopped
}

// look reads how far a node is. upgrade may be nil.
func look(ctx context.Context, cluster workload.Cluster, machine *clusterv1.Machine, to version.Version,
	upgrade *v1alpha1.ClusterUpgrade) (progress.Verdict, progress.Facts, error) {
	name := machine.Status.NodeRef.Name
	if name == "" {
		return progress.Verdict{}, progress.Facts{}, refuse("Machine %s/%s has no node yet", machine.Namespace, machine.Name)
	}
	node, err := cluster.Node(ctx, name)
	if err != nil {
		return progress.Verdict{}, progress.Facts{}, err
	}
	if node == nil {
		return progress.Verdict{}, progress.Facts{}, refuse("cluster %s has no Node %s", cluster.Name, name)
	}
	order, err := cluster.NodeUpgrade(ctx, name)
	if err != nil {
		return progress.Verdict{}, progress.Facts{}, err
	}
	facts := progress.Facts{To: to, ControlPlane: management.OnControlPlane(machine), Node: node, NodeUpgrade: order, Upgrade: upgrade}
	if upgrade != nil {
		if facts.Others, err = cluster.Upgrades(ctx); err != nil {
			return progress.Verdict{}, progress.Facts{}, err
		}
	}
	return progress.Of(facts), facts, nil
}
