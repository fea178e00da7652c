// Package pretend has a node's systemd and logind that only pretend, for agents whose code and API server
// are real: in tests, in the benchmark of fleets and in `make play`.
package pretend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Host pretends to be a node's systemd and logind. It outlives the agents that use it. What is written
// here is changed and read with its lock, once an agent runs.
type Host struct {
	sync.Mutex
	Facts verb.HostFacts
	// Takes is how long a verb takes, and Slow how long those take that take another time.
	Takes time.Duration
	Slow  map[verb.Verb]time.Duration
	// Fail is how a verb ends next time. BusFails: the system bus fails once, when this is started.
	Fail     map[verb.Verb]*verb.Result
	BusFails verb.Verb
	Dir      string                 // the state folder
	Engine   func() (string, error) // update_engine's status; nil: it does not run
	Packages string                 // the version that comes from packages; empty: from an image
	// What follows a reboot and a restart. OnSoftReboot is called while the former kubelet's status is
	// still on the Node.
	OnReboot, OnSoftReboot, OnRestart func(boot string)
	// Refresh is what a restart that fails leaves merged; nil: what was merged before.
	Refresh *string
	// Running are the verbs that run, Asked and Results the last request for each and how it ended.
	Running map[verb.Verb]bool
	Reboots int // so far
	Asked   map[verb.Verb]*verb.Request
	Results map[verb.Verb]*verb.Result

	began    []string                    // verbs that change something, as they began
	hung     map[verb.Verb]*verb.Request // verbs that do not end; nil: not due to end yet
	watchers map[chan host.Change]bool
	etcd     *v1alpha1.EtcdFacts // the health of its members
	former   string              // what the last activation replaced
	last     verb.ActivateArgs   // and what it was told
	guarded  bool                // it was not confirmed yet
}

// NewHost returns the host of a worker that runs v1.34.3.
func NewHost() *Host {
	return &Host{
		Facts: verb.HostFacts{
			BootID:    "boot-0",
			Installed: []string{"v1.34.3"}, Active: "v1.34.3", Merged: "v1.34.3",
		},
		Running: map[verb.Verb]bool{}, Results: map[verb.Verb]*verb.Result{},
		Fail: map[verb.Verb]*verb.Result{}, watchers: map[chan host.Change]bool{},
		Asked: map[verb.Verb]*verb.Request{},
		hung:  map[verb.Verb]*verb.Request{},
		Takes: 30 * time.Millisecond,
	}
}

// Start starts a verb, which ends a while later.
func (h *Host) Start(_ context.Context, r verb.Request, _ verb.Options) error {
	h.Lock()
	defer h.Unlock()
	if h.Running[r.Verb] {
		return nil
	}
	if h.BusFails == r.Verb {
		h.BusFails = ""
		return host.Fail(v1alpha1.ReasonHostUnreachable, "the bus is away")
	}
	h.Running[r.Verb] = true
	delete(h.Results, r.Verb)
	r.RequestedAt = time.Now()
	h.Asked[r.Verb] = &r
	if r.Verb != verb.Facts && r.Verb != verb.Etcd {
		h.began = append(h.began, string(r.Verb))
	}
	h.Notify(host.Change{Verb: r.Verb})
	takes, slow := h.Slow[r.Verb]
	if !slow {
		takes = h.Takes
	}
	time.AfterFunc(takes, func() { h.end(r) })
	return nil
}

// Install puts the program of the host verbs on the node.
func (h *Host) Install() error {
	h.Lock()
	defer h.Unlock()
	h.Facts.HasFiles = true
	return nil
}

// HasFiles reports whether something of kubectl-upgrade is on the node.
func (h *Host) HasFiles() bool {
	h.Lock()
	defer h.Unlock()
	return h.Facts.HasFiles
}

func (h *Host) end(r verb.Request) {
	h.Lock()
	defer h.Unlock()
	if _, hangs := h.hung[r.Verb]; hangs {
		h.hung[r.Verb] = &r
		return
	}
	result := &verb.Result{Verb: r.Verb, Key: r.Key, BootID: h.Facts.BootID, FinishedAt: time.Now(), OK: true}
	if failure := h.Fail[r.Verb]; failure != nil {
		result.OK, result.Reason, result.Message, result.LogTail = false, failure.Reason, failure.Message, failure.LogTail
		delete(h.Fail, r.Verb)
		if r.Verb == verb.Restart && h.Refresh != nil {
			h.Facts.Merged = *h.Refresh
		}
	}
	if result.OK {
		h.apply(r)
	}
	switch r.Verb {
	case verb.Facts:
		h.Facts.Node.GatheredTime = metav1.Now()
		result.Output, _ = json.Marshal(h.Facts)
	case verb.Etcd:
		result.Output, _ = json.Marshal(verb.EtcdOutput{Etcd: h.etcd})
	case verb.Snapshot:
		result.Output, _ = json.Marshal(verb.SnapshotOutput{Path: "/snapshots/1", SHA256: strings.Repeat("a", 64), TakenAt: time.Now()})
	}
	h.Running[r.Verb] = false
	h.Results[r.Verb] = result
	h.Notify(host.Change{Verb: r.Verb})
}

// SetKubeletProblem sets what is wrong with the kubelet.
func (h *Host) SetKubeletProblem(problem string) {
	h.Lock()
	defer h.Unlock()
	h.Facts.KubeletProblem = problem
}

// Hang keeps a verb from ending until Finish is called.
func (h *Host) Hang(v verb.Verb) {
	h.Lock()
	defer h.Unlock()
	h.hung[v] = nil
}

// Finish ends a verb that hangs, if it is due.
func (h *Host) Finish(v verb.Verb) {
	h.Lock()
	request := h.hung[v]
	delete(h.hung, v)
	h.Unlock()
	if request != nil {
		h.end(*request)
	}
}

// apply changes the node as a verb does.
func (h *Host) apply(r verb.Request) {
	var args verb.ActivateArgs // the others' are among them
	_ = json.Unmarshal(r.Args, &args)
	switch r.Verb {
	case verb.Uninstall:
		h.Facts.HasFiles = false
	case verb.Disarm:
		h.Facts.Armed, h.guarded = false, false
	case verb.Confirm:
		h.guarded = false
	case verb.Stage:
		if !slices.Contains(h.Facts.Installed, args.Version) {
			h.Facts.Installed = append(h.Facts.Installed, args.Version)
		}
	case verb.Kubeadm:
		h.Facts.Kubeadm.Version = args.Version
		for component := range h.Facts.StaticPods {
			h.Facts.StaticPods[component] = args.Version
		}
	case verb.Renew:
		h.renew(r)
	case verb.Activate:
		h.former, h.last, h.guarded = h.Facts.Active, args, true
		h.Facts.Active, h.Facts.Rollback = args.Version, nil
	case verb.Restart:
		h.Facts.Merged = args.Version
		go h.OnRestart(h.Facts.BootID)
	}
}

// renew renews the certificates for as long as they lasted.
func (h *Host) renew(r verb.Request) {
	var args verb.RenewArgs
	_ = json.Unmarshal(r.Args, &args)
	h.Facts.CertificatesRenewed = &v1alpha1.CertificatesRenewed{Upgrade: args.Upgrade, Time: metav1.Now()}
	for i := range h.Facts.Node.Certificates {
		c, now := &h.Facts.Node.Certificates[i], metav1.Now()
		if c.RenewedBy != v1alpha1.RenewedByKubeadm {
			continue
		}
		began := now
		if c.WrittenTime != nil {
			began = *c.WrittenTime
		} else if c.NotBefore != nil {
			began = *c.NotBefore
		}
		c.NotAfter = metav1.NewTime(now.Add(c.NotAfter.Sub(began.Time)))
		c.WrittenTime, c.InUse = &now, v1alpha1.UsesCurrent
		h.Facts.CertificatesRenewed.Names = append(h.Facts.CertificatesRenewed.Names, rules.CertificateKind(*c))
	}
}

// LastRequest returns the last request for a verb.
func (h *Host) LastRequest(v verb.Verb) (*verb.Request, error) {
	h.Lock()
	defer h.Unlock()
	return h.Asked[v], nil
}

// Open opens a file of the state folder.
func (h *Host) Open(name string) (*os.File, error) { return os.Open(filepath.Join(h.Dir, name)) }

// SetEtcd sets the health of etcd's members.
func (h *Host) SetEtcd(facts *v1alpha1.EtcdFacts) {
	h.Lock()
	defer h.Unlock()
	h.etcd = facts
}

// Notify tells who watches of a change. The lock is held.
func (h *Host) Notify(change host.Change) {
	for watcher := range h.watchers {
		select {
		case watcher <- change:
		default:
		}
	}
}

// Last returns how a verb ended, or that it runs.
func (h *Host) Last(_ context.Context, v verb.Verb) (bool, *verb.Result, error) {
	h.Lock()
	defer h.Unlock()
	if h.Running[v] {
		return true, nil, nil
	}
	return false, h.Results[v], nil
}

// Changes tells of verbs that begin and end.
func (h *Host) Changes(ctx context.Context) (<-chan host.Change, error) {
	changes := make(chan host.Change, 16)
	h.Lock()
	h.watchers[changes] = true
	h.Unlock()
	context.AfterFunc(ctx, func() {
		h.Lock()
		defer h.Unlock()
		delete(h.watchers, changes)
		close(changes)
	})
	return changes, nil
}

// UpdateEngine returns the status of update_engine.
func (h *Host) UpdateEngine(context.Context) (string, error) {
	h.Lock()
	defer h.Unlock()
	if h.Engine == nil {
		return "", nil
	}
	return h.Engine()
}

// Reboot reboots the node: all that runs on it ends.
func (h *Host) Reboot(context.Context) error {
	h.Lock()
	boot := h.boot()
	h.Unlock()
	go h.OnReboot(boot)
	return nil
}

// Return returns the node to the image that the last activation replaced, as its guard does: it is merged
// in the boot whose ID it returns.
func (h *Host) Return(why, log string) (boot string) {
	h.Lock()
	defer h.Unlock()
	now := time.Now()
	h.Facts.Rollback = &verb.Rollback{
		Upgrade: h.last.Upgrade, From: h.former, To: h.last.Version, Message: why, Log: log,
		StartedAt: now, FinishedAt: now, BootID: h.Facts.BootID, Reboots: 1,
	}
	h.Facts.Active, h.Facts.Kubeadm.Version, h.guarded = h.former, "", false
	return h.boot()
}

// Guarded returns the last activation while the guard watches it, in this boot.
func (h *Host) Guarded() (args verb.ActivateArgs, boot string, guarded bool) {
	h.Lock()
	defer h.Unlock()
	return h.last, h.Facts.BootID, h.guarded
}

// boot changes what a reboot changes on the host.
func (h *Host) boot() (id string) {
	h.Reboots++
	h.Facts.BootID = fmt.Sprintf("boot-%d", h.Reboots)
	h.Facts.Merged = h.Facts.Active
	return h.Facts.BootID
}

// SoftReboot starts again all that runs on the node but its kernel.
func (h *Host) SoftReboot(context.Context) error {
	h.Lock()
	h.Facts.SoftReboots++
	h.Facts.Merged = h.Facts.Active
	boot := h.Facts.BootID
	h.Unlock()
	go h.OnSoftReboot(boot)
	return nil
}

// IsStopping reports whether the host shuts down: here a reboot takes no time.
func (h *Host) IsStopping(context.Context) (bool, error) { return false, nil }

// SoftRebootCount counts soft reboots.
func (h *Host) SoftRebootCount() int32 {
	h.Lock()
	defer h.Unlock()
	return h.Facts.SoftReboots
}

// Verbs returns the verbs that change something, in the order of their start.
func (h *Host) Verbs() []string {
	h.Lock()
	defer h.Unlock()
	return slices.Clone(h.began)
}

// RebootCount counts reboots.
func (h *Host) RebootCount() int {
	h.Lock()
	defer h.Unlock()
	return h.Reboots
}

// AwaitEnd waits until a verb does not run any more.
func (h *Host) AwaitEnd(ctx context.Context, v verb.Verb) {
	for running := true; running; time.Sleep(time.Millisecond) {
		running, _, _ = h.Last(ctx, v)
	}
}

// Merged returns the version of the kubelet.
func (h *Host) Merged() string {
	h.Lock()
	defer h.Unlock()
	return cmp.Or(h.Packages, h.Facts.Merged)
}
