package agent

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// Host is the node's systemd, logind and update_engine. *host.Client implements it.
type Host interface {
	Start(ctx context.Context, r verb.Request, o verb.Options) error
	Last(ctx context.Context, v verb.Verb) (running bool, last *verb.Result, err error)
	Changes(ctx context.Context) (<-chan host.Change, error)
	Reboot(ctx context.Context) error
	SoftReboot(ctx context.Context) error
	// IsStopping reports whether the host shuts down, for a reboot of either kind.
	IsStopping(ctx context.Context) (bool, error)
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
	// Ready is called once, when the node's facts are written, or those of etcd have to wait for another node, or
	// ReadyWithin after the start: an agent that cannot gather facts still runs, and must not stop a rollout. It is
	// not called while the status that is to be written cannot be.
	Ready       func()
	ReadyWithin time.Duration
	// Watchdog watches each round of the loop.
	Watchdog program.Watchdog
	// Now is the clock.
	Now func() time.Time
}

// Agent runs the loop of one node. Seven senses see the node, each with what it remembers; the state is what
// machine has decided.
type Agent struct {
	Config
	state   machine.State
	host    *hostSense
	slots   *slotSense
	kubelet *kubeletSense
	etcd    *etcdSense
	drain   *drainSense
	whole   *wholeSense
	report  *reportSense

	kubeadm       *logCopier
	kick          chan struct{}
	started       time.Time
	failuresInRow int // reconciles that failed in a row
}

// New returns an Agent.
func New(c Config) *Agent {
	a := assemble(c)
	a.kubelet.watch(a.wakeUp)
	a.slots.watch(a.wakeUp)
	a.drain.watch(a.wakeUp)
	a.report.watch(a.wakeUp)
	return a
}

// assemble returns an Agent without watches.
func assemble(c Config) *Agent {
	a := &Agent{Config: c, kick: make(chan struct{}, 1), started: c.Now()}
	a.host = newHostSense(&a.Config)
	a.slots = &slotSense{Config: &a.Config, leases: newSlotWatch()}
	a.kubelet = &kubeletSense{Config: &a.Config}
	a.etcd = &etcdSense{Config: &a.Config, host: a.host, slots: a.slots}
	a.whole = &wholeSense{Config: &a.Config}
	a.drain = &drainSense{Config: &a.Config, drainer: &drain.Drainer{Node: c.Node, Kubelet: c.Kubelet, Account: c.Account}}
	a.report = &reportSense{Config: &a.Config, host: a.host, etcd: a.etcd, refused: map[string]string{}, ready: sync.OnceFunc(c.Ready)}
	a.kubeadm = newLogCopier(c.Host, c.Output)
	return a
}

// Run reconciles until ctx ends. It retries what fails, and reports a lasting problem in the status. It returns an
// error only if the API server refuses that status, or what the agent has to read first.
func (a *Agent) Run(ctx context.Context) error {
	a.Log.InfoContext(ctx, "watching", "node", a.Node)
	if err := a.startWatches(ctx); err != nil {
		return err
	}
	if !a.loadState(ctx) {
		return nil
	}
	go a.watchHost(ctx)
	go a.kubeadm.run(ctx)
	for {
		end := a.Watchdog.Round()
		pause := a.reconcile(ctx)
		end()
		if err := a.report.refusal(); err != nil {
			return err
		}
		if a.report.answer == nil && a.Now().Sub(a.started) >= a.ReadyWithin {
			a.report.ready()
		}
		select {
		case <-ctx.Done():
			a.Log.InfoContext(ctx, "ending", "node", a.Node, "step", a.state.Step)
			return nil
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

// startWatches starts the watches of the node's own objects, and waits for their first lists, or until ctx ends. It
// returns an error if the API server refuses the agent's identities; without an answer it goes on waiting.
func (a *Agent) startWatches(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{a.report.nodeUpgrades, a.report.inventories, a.kubelet.nodes} {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	listed := make(chan struct{})
	go func() {
		defer close(listed)
		cache.WaitForCacheSync(ctx.Done(), synced...)
	}()
	for {
		select {
		case <-listed:
			return nil
		case <-time.After(refusedFor):
		}
		if err := a.readRefused(ctx); err != nil {
			return err
		}
	}
}

// watchHost kicks when a unit on the host changes. The bus may be unreachable.
func (a *Agent) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := a.Host.Changes(ctx)
		if err != nil {
			a.Log.WarnContext(ctx, "watching the host's units", "node", a.Node, "error", err)
			sleep(ctx, maxPause)
			continue
		}
		for change := range changes {
			if change.Verb == verb.Kubeadm {
				a.kubeadm.wakeUp()
			}
			if change.UpdateEngine || change.Verb == verb.Facts {
				a.host.engine.ask.Store(true)
			}
			a.wakeUp()
		}
		sleep(ctx, afterError)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
