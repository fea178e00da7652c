package agent

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/observe"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Host is the node's own systemd, logind and update_engine, as *host.Client
// reaches them.
type Host interface {
	Start(ctx context.Context, r host.Request, o host.Options) error
	Last(ctx context.Context, v verb.Verb) (running bool, last *host.Result, err error)
	Changes(ctx context.Context) (<-chan host.Change, error)
	Reboot(ctx context.Context) error
	// LastRequest returns the last request for a verb, or nil. Open opens a file of the
	// state folder.
	LastRequest(v verb.Verb) (*host.Request, error)
	Open(name string) (*os.File, error)
	UpdateEngine(ctx context.Context) (status string, err error)
}

// Config is what an agent works with.
type Config struct {
	// Node is the name of its node.
	Node string
	// Version of the agent, for status.
	Version string
	// Host is its node's systemd. Install makes our own program be there for
	// the host verbs.
	Host    Host
	Install func() error
	// Kubelet is the kubelet's client, which reads and writes what is its own
	// node's. Account is the ServiceAccount's, for what all agents see, Upgrades
	// the ServiceAccount's for our own kinds.
	Account, Kubelet kubernetes.Interface
	Upgrades         *client.Interface
	// Events gets a node's transitions.
	Events *observe.Recorder
	Log    *slog.Logger
	// Output gets kubeadm's own words, a line in each Write.
	Output io.Writer
	// Now is the clock.
	Now func() time.Time
}

// Agent is the loop of one node.
type Agent struct {
	Config
	slots   *slot.Slots
	drainer *drain.Drainer
	kick    chan struct{}
	started time.Time

	nodeUpgrades, inventories, nodes, leases cache.SharedIndexInformer
	pods                                     podWatch

	state      machine.State
	generation int64 // of the order that state answers
	seen       hostView
	failures   map[verb.Verb]time.Time // those that were logged
	unstarted  map[verb.Verb]unstarted // why a verb could not be started the last time
	engine     engineView
	written    written
	inventory  inventoryView
	drained    *machine.Drain
	rebootAt   time.Time // when the reboot was asked for
	refused    string    // why it was not accepted the last time
	write      failedWrite
	etcd       etcdView
	kubeadm    *mirror
	trouble    int // turns that ended with an error, in a row
	installed  bool
}

// New makes an agent.
func New(c Config) *Agent {
	a := &Agent{
		Config:  c,
		slots:   slot.New(c.Account),
		drainer: &drain.Drainer{Node: c.Node, Kubelet: c.Kubelet, DaemonSets: c.Account},
		kick:    make(chan struct{}, 1),
		started: c.Now(),

		failures:  map[verb.Verb]time.Time{},
		unstarted: map[verb.Verb]unstarted{},
	}
	a.kubeadm = newMirror(c.Host, c.Output)
	a.engine.ask.Store(true)
	a.watch()
	return a
}

// Run works until ctx ends. It returns no error: whatever is away comes back,
// or the status says so.
func (a *Agent) Run(ctx context.Context) {
	a.Log.InfoContext(ctx, "watching", "node", a.Node)
	if !a.startWatches(ctx) || !a.remember(ctx) {
		return
	}
	go a.watchHost(ctx)
	go a.kubeadm.run(ctx)
	for {
		pause := a.turn(ctx)
		select {
		case <-ctx.Done():
			a.Log.InfoContext(ctx, "ending", "node", a.Node, "step", a.state.Step)
			return
		case <-a.kick:
		case <-time.After(pause):
		}
	}
}

// wakeUp has the loop look again soon.
func (a *Agent) wakeUp() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// nodeUpgrade returns this node's NodeUpgrade, from the watch; nil where there is
// none.
func (a *Agent) nodeUpgrade() *v1alpha1.NodeUpgrade {
	return one[*v1alpha1.NodeUpgrade](a.nodeUpgrades)
}

// node returns the Node object, from the watch; nil where there is none.
func (a *Agent) node() *corev1.Node {
	return one[*corev1.Node](a.nodes)
}

func one[T any](informer cache.SharedIndexInformer) (none T) {
	for _, object := range informer.GetStore().List() {
		return object.(T)
	}
	return none
}
