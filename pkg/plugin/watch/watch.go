package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Watcher shows an upgrade until it has ended.
type Watcher struct {
	Clients snapshot.Clients
	Display Display
	Now     func() time.Time
	// Upgrade that is followed. Empty: the active one, or the next.
	Upgrade string
	// Shows reports whether a node's changes are shown. Nil: all are.
	Shows func(view.Node) bool
	// Picture draws what is shown while there is no upgrade; with instead, always. Its
	// error ends the following. Nil: an upgrade is followed that exists.
	Picture func(view.Status) (picture string, instead bool, err error)

	forecast view.Forecaster
	followed *view.Upgrade
	seen     memory
	ended    bool
}

// memory is what was known of the upgrade that is followed, and is not any more.
type memory struct {
	steps      map[string][]v1alpha1.StepTime
	expected   time.Duration // that all takes, when it began
	unmeasured bool
}

// young is the age of an upgrade until which a forecast is that of its beginning.
const young = time.Minute

// keep remembers what is known now, and adds what was known before: agents forget an upgrade soon after its end, and a
// person may not be allowed to read its record.
func (m *memory) keep(p *view.Progress, s clusterstate.Snapshot, now time.Time) {
	if m.steps == nil {
		m.steps = map[string][]v1alpha1.StepTime{}
		m.unmeasured = !slices.ContainsFunc(s.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Spec.Outcome == v1alpha1.OutcomeSucceeded })
	}
	if begin := p.Upgrade.TriggerTime; m.expected == 0 && begin != nil && p.PredictedEnd != nil && now.Sub(*begin) < young {
		m.expected = p.PredictedEnd.Sub(*begin)
	}
	p.Expected, p.Unmeasured = m.expected, m.unmeasured
	for i := range p.Nodes {
		switch n := &p.Nodes[i]; {
		case len(n.Steps) > 0:
			m.steps[n.Name] = n.Steps
		case p.Upgrade.Outcome != "":
			n.Steps = m.steps[n.Name]
		}
	}
}

// ShowedEnd reports whether the display has shown how the upgrade ended.
func (f *Watcher) ShowedEnd() bool { return f.ended }

// Followed returns the upgrade as it was shown last. Nil: there was none.
func (f *Watcher) Followed() *view.Upgrade { return f.followed }

// Failure is why an upgrade that was followed did not succeed, or cannot go on by
// itself.
type Failure struct{ error }

// NewFailure returns the error as a Failure, for several upgrades together.
func NewFailure(err error) Failure { return Failure{err} }

// redrawEvery limits how often a screen is drawn, however much changes.
const redrawEvery = 150 * time.Millisecond

// Run shows the upgrade. It ends with the upgrade, without an error if that succeeded, or with
// ctx and its error.
// first is what is known when it begins.
func (f *Watcher) Run(ctx context.Context, first clusterstate.Snapshot) error {
	defer f.Display.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := make(chan struct{}, 1)
	following, end, err := f.watch(ctx, first, changes)
	if err != nil {
		return err
	}
	connection := f.connection(ctx)
	resized, ignore := resizes()
	defer ignore()
	tick := time.NewTicker(time.Second) // clocks go on while nothing changes
	defer tick.Stop()
	for unreachable, changed := false, true; ; {
		s := following.Snapshot()
		if ended, _ := Outcome(s, f.Upgrade); ended {
			// Watches of two kinds have no common order: the last changes of nodes may not be here yet.
			if list, err := f.Clients.Ours.NodeUpgrades.List(ctx, metav1.ListOptions{}); err == nil {
				s.NodeUpgrades = list.Items
			}
			s.Records = slices.Concat(s.Records, f.recorded(ctx, s.Upgrade(f.Upgrade)))
		}
		if ended, err := f.show(s, unreachable, changed); ended || err != nil {
			return err
		}
		changed = false
		select {
		case <-ctx.Done():
		case <-time.After(redrawEvery):
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answers := <-connection:
			if unreachable = !answers; unreachable {
				break
			}
			// Watches that failed for a while wait long before they try again.
			end()
			if following, end, err = f.watch(ctx, s, changes); err != nil {
				return err
			}
		case <-changes:
			changed = true
		case <-resized:
		case <-tick.C:
		}
	}
}

// recorded returns the record of the upgrade, which has ended: agents forget an upgrade soon after, and its times with it.
// A person who may not read it sees what is left. u may be nil.
func (f *Watcher) recorded(ctx context.Context, u *v1alpha1.ClusterUpgrade) []v1alpha1.UpgradeRecord {
	if u == nil {
		return nil
	}
	list, err := f.Clients.Ours.UpgradeRecords.List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(u.UID)})
	if err != nil {
		return nil
	}
	return list.Items
}

// watch begins to follow the cluster. changes receives when something has changed.
func (f *Watcher) watch(ctx context.Context, known clusterstate.Snapshot, changes chan struct{}) (*snapshot.Following, context.CancelFunc, error) {
	ctx, end := context.WithCancel(ctx)
	following, err := snapshot.Follow(ctx, f.Clients, known, f.Now, func() {
		select {
		case changes <- struct{}{}:
		default: // the last one has not been received yet
		}
	})
	return following, end, err
}

// show displays what is known, and reports whether the upgrade has ended and how.
func (f *Watcher) show(s clusterstate.Snapshot, unreachable, changed bool) (ended bool, err error) {
	frame := Frame{Cluster: s, Status: view.NewStatus(s, f.Now()), Unreachable: unreachable}
	instead := false
	if f.Picture != nil {
		if frame.Picture, instead, err = f.Picture(frame.Status); err != nil {
			return false, err
		}
	}
	if f.Shows != nil {
		frame.Status.Nodes = slices.DeleteFunc(slices.Clone(frame.Status.Nodes), func(n view.Node) bool { return !f.Shows(n) })
	}
	if f.Upgrade == "" && frame.Status.Upgrade != nil {
		f.Upgrade = frame.Status.Upgrade.Name
	}
	if u := s.Upgrade(f.Upgrade); u != nil {
		frame.Status.Upgrade = view.NewUpgrade(u)
		f.followed = frame.Status.Upgrade
		if !instead {
			progress := view.NewProgress(s, u, f.forecast.Plan(s, f.Upgrade, changed, f.Now()))
			progress.Problems = frame.Status.Problems
			f.seen.keep(&progress, s, f.Now())
			frame.Progress = &progress
		}
	}
	ended, outcome := Outcome(s, f.Upgrade)
	frame.Ended = ended
	f.ended = ended && frame.Progress != nil
	if err := f.Display.Show(frame); err != nil {
		return false, err
	}
	return ended, outcome
}

// Outcome reports whether the upgrade with that name has ended, or stands still until a
// person acts. The error, a Failure, says how if that is not well.
func Outcome(s clusterstate.Snapshot, name string) (ended bool, err error) {
	if name == "" {
		return false, nil
	}
	u := s.Upgrade(name)
	if u == nil {
		return true, Failure{fmt.Errorf("ClusterUpgrade %s was deleted before it ended; `kubectl upgrade status` shows the nodes", name)}
	}
	v := view.NewUpgrade(u)
	v.NoteBlocked(s.Policy)
	switch {
	case v.Outcome == v1alpha1.OutcomeSucceeded:
		return true, nil
	case v.Outcome != "":
		return true, Failure{fmt.Errorf("ClusterUpgrade %s ended: %s: %s; `kubectl upgrade history %s` shows the nodes", name, v.Outcome, v.Message, name)}
	case v.Stalled && v.Reason == v1alpha1.ReasonNodeFailed:
		return true, Failure{fmt.Errorf("ClusterUpgrade %s cannot continue by itself: %s: %s; fix that, then %s", name, v.Reason, v.Message, v.Again())}
	case v.Stalled && !v.Reason.Info().Resumes: // what resumes by itself can be watched
		return true, Failure{fmt.Errorf("ClusterUpgrade %s cannot continue by itself: %s: %s; `kubectl upgrade status` shows the nodes", name, v.Reason, v.Message)}
	}
	return false, nil
}

// connection returns a channel that reports when the API server stops answering (false)
// and when it answers again (true). A watch alone does not show that: it may hang for
// a minute on a dead connection, and a new one is quiet while nothing changes.
func (f *Watcher) connection(ctx context.Context) <-chan bool {
	changes := make(chan bool)
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		last := true
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := f.ready(ctx)
			if now == last {
				continue
			}
			last = now
			select {
			case <-ctx.Done():
				return
			case changes <- now:
			}
		}
	}()
	return changes
}

// ready reports whether the API server answers at all: to refuse the request is an
// answer.
func (f *Watcher) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := f.Clients.Kube.CoreV1().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	var refusal apierrors.APIStatus
	return err == nil || errors.As(err, &refusal)
}
