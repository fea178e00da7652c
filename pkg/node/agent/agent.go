package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// Host is the node's systemd, logind and update_engine. *host.Client implements it.
type Host interface {
	Start(ctx context.Context, r verb.Request, o verb.Options) error
	Last(ctx context.Context, v verb.Verb) (running bool, last *verb.Result, err error)
	Changes(ctx context.Context) (<-chan host.Change, error)
	Reboot(ctx context.Context) error
	SoftReboot(ctx context.Context) error
	// LastRequest returns the last request for a verb, or nil. Open opens a file in the
	// state directory.
	LastRequest(v verb.Verb) (*verb.Request, error)
	Open(name string) (*os.File, error)
	UpdateEngine(ctx context.Context) (status string, err error)
}

// Config configures an Agent.
type Config struct {
	// Node is the name of its node.
	Node string
	// Version of the agent, for status.
	Version string
	// Host is the node's systemd. Install copies our program to the host, for the
	// host verbs.
	Host    Host
	Install func() error
	// Account and Kubelet are clients of the API server: Account with the identity of
	// the ServiceAccount, Kubelet with that of the kubelet, for the node's own objects.
	// Upgrades is a client for our own kinds, with the identity of the ServiceAccount.
	Account, Kubelet kube.Interface
	Upgrades         *kube.Kinds
	// ClockAhead returns by how much the node's clock is ahead of the API server's, if that is
	// too much to judge windows. Nil: it is not compared.
	ClockAhead func() time.Duration
	// Events records the node's transitions.
	Events *Recorder
	Log    *slog.Logger
	// Output receives kubeadm's output, one line per Write.
	Output io.Writer
	// Ready is called once, when the node's facts are written, or ReadyWithin after the
	// start: an agent that cannot report still runs, and must not stop a rollout.
	Ready       func()
	ReadyWithin time.Duration
	// Watchdog watches each round of the loop.
	Watchdog program.Watchdog
	// Now is the clock.
	Now func() time.Time
}

// Agent runs the loop of one node.
type Agent struct {
	Config
	slots   *slot.Slots
	drainer *drain.Drainer
	kick    chan struct{}
	started time.Time

	nodeUpgrades, inventories, nodes cache.SharedIndexInformer
	leases                           slotWatch
	pods                             podWatch

	state         machine.State
	generation    int64 // of the NodeUpgrade that state is for
	seen          hostView
	failures      map[verb.Verb]time.Time    // when the last logged failure of a verb ended
	startFailures map[verb.Verb]startFailure // why the last start of a verb failed
	stageAgain    bool                       // the last staging no longer counts, see keyringHold
	engine        engineView
	lastStatus    writtenStatus
	answered      bool      // lastStatus is of the present observation
	changedAt     time.Time // when the status began to differ from lastStatus; zero: it does not
	inventory     inventoryView
	open          openGate
	nodeWrite     nodeWrite
	leaseWrite    leaseWrite
	daemonSets    map[types.NamespacedName]bool // those that the last gate found; nil: it did not look
	drained       *machine.Drain
	ending        []types.UID // the pods that the last round of evictions left, if all of them were evicted
	onlyLooks     bool        // they have gone: the next round evicts nothing
	uncordoned    bool        // this agent has removed the Node's marks, and has not freed its slot or cordoned since
	volumes       *machine.Volumes
	rebootTriedAt time.Time // when this agent first tried to request the reboot
	rebootAt      time.Time // when it was requested last
	rebootProblem error     // why the last request for a reboot was refused
	failingWrite  failedWrite
	refused       map[string]string // what the API server answered to a report in an object of that kind, if it refused
	etcd          etcdView
	kubeadm       *logCopier
	registration  registrationView
	lease         leaseView
	conditions    conditionsView
	ready         func() // calls Config.Ready the first time
	failuresInRow int    // reconciles that failed in a row
	installed     bool
}

// New returns an Agent.
func New(c Config) *Agent {
	a := &Agent{
		Config:  c,
		drainer: &drain.Drainer{Node: c.Node, Kubelet: c.Kubelet, Account: c.Account},
		kick:    make(chan struct{}, 1),
		started: c.Now(),

		failures:      map[verb.Verb]time.Time{},
		startFailures: map[verb.Verb]startFailure{},
		refused:       map[string]string{},
	}
	a.slots = slot.New(c.Account.Leases(v1alpha1.Namespace), c.Account.Nodes(), a.watchedLease)
	a.kubeadm = newLogCopier(c.Host, c.Output)
	a.ready = sync.OnceFunc(c.Ready)
	a.engine.ask.Store(true)
	a.watch()
	a.pods.begin = a.watchPods
	return a
}

// Run reconciles until ctx ends. It returns no error: it retries, and reports a lasting
// problem in the status.
func (a *Agent) Run(ctx context.Context) {
	a.Log.InfoContext(ctx, "watching", "node", a.Node)
	defer time.AfterFunc(a.ReadyWithin, a.ready).Stop()
	if !a.startWatches(ctx) || !a.loadState(ctx) {
		return
	}
	go a.watchHost(ctx)
	go a.kubeadm.run(ctx)
	for {
		end := a.Watchdog.Round()
		pause := a.reconcile(ctx)
		end()
		select {
		case <-ctx.Done():
			a.Log.InfoContext(ctx, "ending", "node", a.Node, "step", a.state.Step)
			return
		case <-a.kick:
		case <-time.After(pause):
		}
	}
}

// wakeUp makes the loop reconcile soon.
func (a *Agent) wakeUp() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// nodeUpgrade returns this node's NodeUpgrade, from the watch, or nil. The first list may be
// older than the Node, and have the NodeUpgrade of a former Node of this name.
func (a *Agent) nodeUpgrade() *v1alpha1.NodeUpgrade {
	nu := one[*v1alpha1.NodeUpgrade](a.nodeUpgrades)
	if nu != nil && ofFormerNode(nu, a.node()) {
		return nil
	}
	return nu
}

func one[T any](informer cache.SharedIndexInformer) (none T) {
	for _, object := range informer.GetStore().List() {
		return object.(T)
	}
	return none
}

// Driver runs an agent one reconcile at a time, for a caller that has its own clock and
// fills the caches itself. Agent.Run does the same with watches.
type Driver struct{ agent *Agent }

// Caches are the stores from which an agent reads what its watches show.
type Caches struct {
	NodeUpgrades, Inventories, Nodes cache.Store
}

// WatchSlots begins a watch of all slots, or of the one with that name, and returns its store
// with what the first list has, and how to end it. A nil store: the list failed, and the next
// Reconcile begins it again.
type WatchSlots func(every bool, name string) (store cache.Store, stop func())

// WatchPods begins a watch of the node's pods, and returns its store and how to end it. A nil store: the
// list failed, and the next Reconcile begins it again.
type WatchPods func() (store cache.Store, stop func())

// NewDriver returns the Driver of an agent that has not begun.
func NewDriver(c Config, watch WatchSlots, watchPods WatchPods) *Driver {
	a := New(c)
	a.pods.begin = func(context.Context) (cache.Store, func() bool, func()) {
		store, stop := watchPods()
		return store, func() bool { return true }, stop
	}
	a.leases.start = func(_ context.Context, scope slotScope) *slotWatch {
		w, synced := newSlotWatch(), make(chan struct{})
		w.scope, w.synced = scope, synced
		if scope != (slotScope{}) {
			store, stop := watch(scope.every, scope.name)
			if store == nil {
				w.scope.name = "unread" // differs from every scope, so that follow begins it again
				return &w
			}
			w.store, w.stop = store, stop
		}
		close(synced)
		return &w
	}
	return &Driver{agent: a}
}

// Caches returns the stores to fill before Resume and Reconcile.
func (s *Driver) Caches() Caches {
	a := s.agent
	return Caches{
		NodeUpgrades: a.nodeUpgrades.GetStore(), Inventories: a.inventories.GetStore(),
		Nodes: a.nodes.GetStore(),
	}
}

// Resume restores the state of the last agent. It returns false if ctx ended first.
func (s *Driver) Resume(ctx context.Context) bool { return s.agent.loadState(ctx) }

// Reconcile runs steps until the node has to wait, and returns for how long at most.
func (s *Driver) Reconcile(ctx context.Context) time.Duration { return s.agent.reconcile(ctx) }

// AskUpdateEngine has the next Reconcile read update_engine's status, as a signal of
// update_engine does, and the end of the verb "facts".
func (s *Driver) AskUpdateEngine() { s.agent.engine.ask.Store(true) }

// State returns the node's progress.
func (s *Driver) State() machine.State { return s.agent.state }

// AccountDir is where a pod finds its ServiceAccount.
const AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Clients are the two identities of an agent.
type Clients struct {
	Account, Kubelet kube.Interface
	Upgrades         *kube.Kinds
	// Clock compares the node's clock with the API server's.
	Clock *kube.Clock
}

// Connect makes clients for the API server that the kubelet's own kubeconfig
// names: it can be reached without cluster DNS, CNI and kube-proxy. Certificate
// and token are named as files, which client-go reads again when they rotate.
func Connect(kubeletConfig, accountDir string) (*Clients, error) {
	kubelet, err := clientcmd.BuildConfigFromFlags("", kubeletConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", kubeletConfig, err)
	}
	if kubelet.CAFile != "" {
		// A file of the host that the pod does not mount; it holds the same.
		kubelet.CAFile = filepath.Join(accountDir, "ca.crt")
	}
	return NewClients(&rest.Config{
		Host:            kubelet.Host,
		APIPath:         kubelet.APIPath,
		BearerTokenFile: filepath.Join(accountDir, "token"),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: kubelet.CAData, CAFile: kubelet.CAFile, ServerName: kubelet.ServerName, Insecure: kubelet.Insecure,
		},
	}, kubelet)
}

// NewClients makes the clients of an agent for its two identities, and changes these configurations.
func NewClients(account, kubelet *rest.Config) (*Clients, error) {
	account.UserAgent, kubelet.UserAgent = "kubectl-upgrade-agent", "kubectl-upgrade-agent/kubelet"
	c := Clients{Clock: &kube.Clock{}}
	for _, config := range []*rest.Config{account, kubelet} {
		// A full node has a few hundred pods, each asked about in a round.
		config.QPS, config.Burst = 50, 200
		config.Wrap(retryReads)
		kube.RefuseRedirects(config)
	}
	account.Wrap(c.Clock.Wrap)
	var err error
	if c.Kubelet, err = kube.NewForConfig(kubelet); err != nil {
		return nil, fmt.Errorf("making a client with the kubelet's identity: %w", err)
	}
	if c.Account, err = kube.NewForConfig(account); err != nil {
		return nil, fmt.Errorf("making a client with the ServiceAccount's identity: %w", err)
	}
	if c.Upgrades, err = kube.NewKinds(account); err != nil {
		return nil, err
	}
	return &c, nil
}
