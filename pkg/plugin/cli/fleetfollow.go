package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// askAgain is the pause between an answer of a cluster and the next question.
var askAgain = 2 * time.Second

// followLimit is how long a cluster that is followed may take to answer.
const followLimit = 4 * time.Second

// followed is what is known of the clusters that are followed.
type followed struct {
	sync.Mutex
	answers []fleet.Answer
	// any reports whether those are followed that are seen, also later by clusters that follow others.
	any bool
	// upgrades are those that are followed, by context, and ended are how they ended.
	upgrades map[string]string
	ended    map[string]error
	changed  chan struct{}
}

// follow shows the clusters until the upgrades have ended. upgrades are those that were created, by
// context; nil: those that are seen first.
func (s *fleetStatus) follow(ctx context.Context, all []fleet.Cluster, upgrades map[string]string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	known := &followed{any: upgrades == nil, answers: make([]fleet.Answer, len(all)), upgrades: map[string]string{}, ended: map[string]error{}, changed: make(chan struct{}, 1)}
	for named, name := range upgrades {
		known.upgrades[named] = name
	}
	p := s.newPool()
	first := make(chan struct{}, len(all))
	for i, c := range all {
		known.answers[i] = fleet.Answer{Cluster: c}
		go func() {
			defer utilruntime.HandleCrash()
			s.keepAsking(ctx, known, i, c, p, first)
		}()
	}
	for range all { // the first picture has all of them
		select {
		case <-first:
		case <-ctx.Done():
			return s.interrupted(ctx, known)
		}
	}
	display := s.display()
	defer display.close()
	tick := time.NewTicker(time.Second) // ages go on while nothing changes
	defer tick.Stop()
	for {
		rows, ended, err := known.rows(s.now())
		if err := display.show(rows); err != nil {
			return err
		}
		if ended {
			return errors.Join(err, outcomeOf(rows, answerOfRow))
		}
		select {
		case <-ctx.Done():
			return s.interrupted(ctx, known)
		case <-known.changed:
		case <-tick.C:
		}
	}
}

// interrupted returns why the following ended before the upgrades did.
func (s *fleetStatus) interrupted(ctx context.Context, known *followed) error {
	s.left = known.goOn()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	_, _, err := known.rows(s.now())
	if err != nil {
		return err // one has failed, which counts more
	}
	return errors.New(s.left)
}

// goOn says how the upgrades go on that are not followed any more.
func (k *followed) goOn() string {
	k.Lock()
	defer k.Unlock()
	if len(k.upgrades) == 0 {
		return "no upgrade is active"
	}
	continues := slices.ContainsFunc(k.answers, func(a fleet.Answer) bool {
		return a.Snapshot != nil && watch.Continues(view.NewUpgrade(a.Snapshot.Upgrade(k.upgrades[a.Context])))
	})
	if !continues {
		return "no upgrade continues by itself: `kubectl upgrade fleet status` says why"
	}
	return "the upgrades continue: `kubectl upgrade fleet status -w` follows them"
}

// keepAsking asks a cluster again and again. Where it has gone silent, its last answer remains.
func (s *fleetStatus) keepAsking(ctx context.Context, known *followed, i int, c fleet.Cluster, p pool, first chan struct{}) {
	for begin := true; ; begin = false {
		answer := noAnswer(c, nil)
		if !c.Repeated {
			var trouble *view.Problem
			if answer, trouble = withMember(ctx, &s.fleetCommand, p, c, s.answerOf); trouble != nil {
				answer = noAnswer(c, trouble)
			}
		}
		if ctx.Err() == nil {
			known.note(i, answer, s.now())
		}
		if begin {
			first <- struct{}{}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgain):
		}
	}
}

// note notes an answer, and whether the upgrade that is followed there has ended.
func (k *followed) note(i int, a fleet.Answer, now time.Time) {
	k.Lock()
	defer k.Unlock()
	if a.Snapshot == nil {
		last := k.answers[i]
		last.Trouble = a.Trouble
		a = last
	}
	k.answers[i] = a
	if a.Trouble == nil && a.Snapshot != nil {
		name, follows := k.upgrades[a.Context]
		if queue := plan.Queue(*a.Snapshot, now); !follows && k.any && len(queue) > 0 {
			name, follows = queue[0].Name, true
			k.upgrades[a.Context] = name
		}
		if _, over := k.ended[a.Context]; follows && !over {
			if ended, err := watch.Outcome(*a.Snapshot, name); ended {
				k.ended[a.Context] = err
			}
		}
	}
	select {
	case k.changed <- struct{}{}:
	default: // the last one has not been received yet
	}
}

// rows returns the clusters as they are known now, whether all upgrades that are followed have ended, and
// an error for those that did not end well.
func (k *followed) rows(now time.Time) (rows []fleet.Row, ended bool, err error) {
	k.Lock()
	defer k.Unlock()
	var failed []string
	var first error
	for _, a := range k.answers {
		rows = append(rows, fleet.NewRow(a, now))
		if why := k.ended[a.Context]; why != nil {
			failed, first = append(failed, a.Context), errors.Join(first, fmt.Errorf("%s: %w", a.Context, why))
		}
	}
	switch len(failed) {
	case 0:
	case 1:
		err = first
	default:
		err = failure(fmt.Sprintf("%d of %d upgrades did not end well, in %s; `kubectl upgrade fleet status` says why", len(failed), len(k.upgrades), view.Few(failed)))
	}
	shown := fleet.NewStatus(rows)
	ended = len(k.upgrades) > 0 && len(k.ended) == len(k.upgrades) && (!k.any || !shown.FollowersBehind())
	return shown.Items, ended, err
}

// failure returns an error with the exit code of a failed upgrade.
func failure(message string) error { return watch.NewFailure(errors.New(message)) }

// clustersDisplay is where the rows are shown.
type clustersDisplay struct {
	show  func([]fleet.Row) error
	close func()
}

// display returns a screen that is redrawn on a terminal, and a line for each change elsewhere.
func (s *fleetStatus) display() clustersDisplay {
	if _, _, terminal := s.terminal(); terminal {
		screen := watch.NewScreen(s.terminalOut, s.terminal, s.drawing)
		return clustersDisplay{close: screen.Close, show: func(rows []fleet.Row) error {
			options := s.drawing()
			options.Wide = s.format() == "wide"
			_, height, _ := s.terminal()
			options.Rows = max(height-watch.FooterLines(options)-1, 1)
			return screen.Show(watch.Frame{Picture: render.Clusters(fleet.NewStatus(rows), options)})
		}}
	}
	var before map[string]fleet.Row
	return clustersDisplay{close: func() {}, show: func(rows []fleet.Row) error {
		for _, line := range render.ClusterChanges(before, rows, s.now()) {
			if _, err := fmt.Fprintln(s.Out, line); err != nil {
				return err
			}
		}
		before = map[string]fleet.Row{}
		for _, r := range slices.Backward(rows) {
			before[r.Context] = r
		}
		return nil
	}}
}
