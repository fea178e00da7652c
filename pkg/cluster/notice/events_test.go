package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// story is an upgrade that goes on from status to status, as the coordinator writes them.
type story struct {
	upgrade v1alpha1.ClusterUpgrade
	now     time.Time
	step    time.Duration // between two statuses
	again   *time.Time
	told    []string // event, node and reason of what was sent
	ids     []string
}

func newStory() *story {
	s := &story{now: began, step: time.Minute}
	s.upgrade.Name, s.upgrade.UID, s.upgrade.Spec.Version = "v1-34-4", "uid-1", "v1.34.4"
	return s
}

// to changes the status after a step, and writes it with its records. What is pending until then is
// sent.
func (s *story) to(change func(*v1alpha1.ClusterUpgradeStatus)) *story {
	s.later(s.step)
	after := s.upgrade.Status.DeepCopy()
	change(after)
	for i := range after.Conditions {
		c := &after.Conditions[i]
		c.LastTransitionTime = metav1.NewTime(s.now)
		if before := meta.FindStatusCondition(s.upgrade.Status.Conditions, c.Type); before != nil {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	after.Notices, s.again = Records(&s.upgrade, after, []v1alpha1.Notice{{Name: "chat"}}, nil, func() string { return "" }, s.now)
	s.upgrade.Status = *after
	return s
}

// later lets time pass. Nothing is done before that the coordinator would have to wake up for.
func (s *story) later(d time.Duration) *story {
	s.now = s.now.Add(d)
	for _, p := range AllPending("", []v1alpha1.ClusterUpgrade{s.upgrade}, s.now) {
		if !slices.Contains(s.ids, p.ID) {
			s.told = append(s.told, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Data.Event, p.Data.Node, p.Data.Reason)))
			s.ids = append(s.ids, p.ID)
		}
	}
	return s
}

// explains sets the conditions as the planner does.
func explains(reason v1alpha1.Reason, stalled bool) func(*v1alpha1.ClusterUpgradeStatus) {
	return func(s *v1alpha1.ClusterUpgradeStatus) {
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(reason), Message: "because of " + string(reason)}}
		if stalled {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(reason)})
		}
	}
}

func active(names ...string) func(*v1alpha1.ClusterUpgradeStatus) {
	return func(s *v1alpha1.ClusterUpgradeStatus) {
		explains(v1alpha1.ReasonReleased, false)(s)
		s.Active = nil
		for _, name := range names {
			s.Active = append(s.Active, v1alpha1.NodeNote{Name: name, Step: v1alpha1.StepDraining})
		}
	}
}

func fails(name string) func(*v1alpha1.ClusterUpgradeStatus) {
	return func(s *v1alpha1.ClusterUpgradeStatus) {
		explains(v1alpha1.ReasonNodeFailed, true)(s)
		s.Active = nil
		s.Blocked = append(s.Blocked, v1alpha1.NodeNote{Name: name, Step: v1alpha1.StepRolledBack, Reason: v1alpha1.ReasonRolledBack, Message: "not healthy"})
	}
}

func ends(outcome v1alpha1.Outcome) func(*v1alpha1.ClusterUpgradeStatus) {
	return func(s *v1alpha1.ClusterUpgradeStatus) {
		explains(v1alpha1.ReasonUpToDate, false)(s)
		s.Active, s.Outcome = nil, outcome
	}
}

// TestEvents tells upgrades, and checks what is told of them.
func TestEvents(t *testing.T) {
	later := func(d time.Duration) func(*story) { return func(s *story) { s.later(d) } }
	steps := func(d time.Duration) func(*story) { return func(s *story) { s.step = d } }
	status := func(changes ...func(*v1alpha1.ClusterUpgradeStatus)) func(*story) {
		return func(s *story) {
			for _, change := range changes {
				s.to(change)
			}
		}
	}
	startsIn := func(d time.Duration) func(*story) {
		return func(s *story) { s.upgrade.Spec.StartTime = &metav1.Time{Time: s.now.Add(d)} }
	}
	for name, test := range map[string]struct {
		steps []func(*story)
		want  []string
	}{
		"all goes well": {
			[]func(*story){status(explains(v1alpha1.ReasonNotStaged, false), active("w1"), active(), active("w2"), explains(v1alpha1.ReasonReleased, false), ends(v1alpha1.OutcomeSucceeded))},
			[]string{"Began w1", "Ended  UpToDate"},
		},
		"announced": {
			[]func(*story){startsIn(time.Hour), status(explains(v1alpha1.ReasonNotStarted, false), explains(v1alpha1.ReasonNotStarted, false), active("w1"))},
			[]string{"Announced", "Began w1"},
		},
		"its start is over when it is seen first": {
			[]func(*story){startsIn(-time.Hour), status(explains(v1alpha1.ReasonNotStaged, false))},
			nil,
		},
		"a window closes and opens": {
			[]func(*story){status(active("w1"), explains(v1alpha1.ReasonWindowClosed, false), explains(v1alpha1.ReasonWindowClosed, false), active("w2"))},
			[]string{"Began w1", "Waiting  WindowClosed"},
		},
		"it waits for approval": {
			[]func(*story){status(explains(v1alpha1.ReasonApprovalRequired, false))},
			[]string{"Waiting  ApprovalRequired"},
		},
		"it waits for other nodes, or in the queue": {
			[]func(*story){status(explains(v1alpha1.ReasonQueued, false), explains(v1alpha1.ReasonNotItsTurn, false), explains(v1alpha1.ReasonNoSlot, false))},
			nil,
		},
		"a node fails, then another one": {
			[]func(*story){status(active("w1"), fails("w1"), fails("w2"), ends(v1alpha1.OutcomeFailed))},
			[]string{"Began w1", "NodeFailed w1 RolledBack", "Stalled w1 NodeFailed", "NodeFailed w2 RolledBack", "Ended  UpToDate"},
		},
		"a node fails as the last thing": {
			[]func(*story){status(active("w1"), func(s *v1alpha1.ClusterUpgradeStatus) { fails("w1")(s); ends(v1alpha1.OutcomeFailed)(s) })},
			[]string{"Began w1", "NodeFailed w1 RolledBack", "Ended  UpToDate"},
		},
		"stalled, stalled for another reason, goes on": {
			[]func(*story){status(explains(v1alpha1.ReasonSkew, true), explains(v1alpha1.ReasonEtcdQuorum, true), active("w1"))},
			[]string{"Stalled  Skew", "Stalled  EtcdQuorum", "Began w1"},
		},
		"what waited is stalled, for the same reason": {
			[]func(*story){status(explains(v1alpha1.ReasonPreflight, false), explains(v1alpha1.ReasonPreflight, true))},
			[]string{"Waiting  Preflight", "Stalled  Preflight"},
		},
		"it flaps": {
			[]func(*story){status(explains(v1alpha1.ReasonSkew, true), active(), explains(v1alpha1.ReasonSkew, true), active(), explains(v1alpha1.ReasonSkew, true))},
			[]string{"Stalled  Skew"},
		},
		"it flaps, and then stays": {
			[]func(*story){status(explains(v1alpha1.ReasonSkew, true), active(), explains(v1alpha1.ReasonSkew, true)), later(10 * time.Minute), status(explains(v1alpha1.ReasonSkew, true))},
			[]string{"Stalled  Skew", "Stalled  Skew"},
		},
		"stalled for one reason, another, and the first": {
			[]func(*story){status(explains(v1alpha1.ReasonSkew, true), explains(v1alpha1.ReasonEtcdQuorum, true), explains(v1alpha1.ReasonSkew, true)), later(10 * time.Minute), status(explains(v1alpha1.ReasonSkew, true))},
			[]string{"Stalled  Skew", "Stalled  EtcdQuorum", "Stalled  Skew"},
		},
		"it waits for a moment": {
			[]func(*story){steps(10 * time.Second), status(explains(v1alpha1.ReasonPreflight, false), explains(v1alpha1.ReasonExternalGateUnknown, false), active("w1"), active("w1"), ends(v1alpha1.OutcomeSucceeded))},
			[]string{"Began w1", "Ended  UpToDate"},
		},
		"the window closes each night": {
			[]func(*story){status(explains(v1alpha1.ReasonWindowClosed, false)), later(20 * time.Hour), status(active("w1"), explains(v1alpha1.ReasonWindowClosed, false))},
			[]string{"Waiting  WindowClosed", "Began w1", "Waiting  WindowClosed"},
		},
		"stalled again, later": {
			[]func(*story){status(explains(v1alpha1.ReasonSkew, true), active()), later(time.Hour), status(explains(v1alpha1.ReasonSkew, true))},
			[]string{"Stalled  Skew", "Stalled  Skew"},
		},
		"an ended upgrade whose status changes": {
			[]func(*story){status(ends(v1alpha1.OutcomeSucceeded), func(s *v1alpha1.ClusterUpgradeStatus) { s.ObservedGeneration = 9 }, explains(v1alpha1.ReasonSkew, true))},
			[]string{"Ended  UpToDate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			for _, step := range test.steps {
				step(s)
			}
			s.later(time.Minute)
			if diff := cmp.Diff(test.want, s.told); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			seen := map[string]bool{}
			for _, id := range s.ids {
				if len(id) != 12 || seen[id] {
					t.Errorf("id %q is not 12 characters, or is there twice: %v", id, s.ids)
				}
				seen[id] = true
			}
		})
	}
}

// TestIDs checks that an id belongs to the upgrade's UID, and is the same on two replicas.
func TestIDs(t *testing.T) {
	one, same, other := newStory(), newStory(), newStory()
	other.upgrade.UID = "uid-2"
	for _, s := range []*story{one, same, other} {
		s.to(active("w1")).to(fails("w1")).to(ends(v1alpha1.OutcomeFailed)).later(time.Minute)
	}
	if diff := cmp.Diff(one.ids, same.ids); diff != "" {
		t.Errorf("two replicas:\n%s", diff)
	}
	for i, id := range one.ids {
		if other.ids[i] == id {
			t.Errorf("two upgrades of the same name have id %s", id)
		}
	}
}

// TestRecords checks what is pending for whom, until it is sent or given up.
func TestRecords(t *testing.T) {
	notices := []v1alpha1.Notice{{Name: "all"}, {Name: "ends", Events: []v1alpha1.NoticeEvent{v1alpha1.NoticeEnded}}}
	s := newStory()
	after := s.upgrade.Status.DeepCopy()
	active("w1")(after)
	after.Notices, _ = Records(&s.upgrade, after, notices, nil, nil, s.now)
	s.upgrade.Status = *after
	ends(v1alpha1.OutcomeSucceeded)(after)
	after.Notices, _ = Records(&s.upgrade, after, notices, nil, nil, s.now)
	s.upgrade.Status = *after
	pending := func() (list []string) {
		for _, p := range AllPending("", []v1alpha1.ClusterUpgrade{s.upgrade}, s.now) {
			list = append(list, p.Data.Event+" "+p.Notice)
		}
		return list
	}
	if diff := cmp.Diff([]string{"Began all", "Ended all", "Ended ends"}, pending()); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	ended := s.upgrade.Status.Notices[1].ID
	results := map[Key]Result{{ended, "ends"}: Sent, {ended, "all"}: GaveUp}
	s.upgrade.Status.Notices, _ = Records(&s.upgrade, after, notices, results, nil, s.now)
	if diff := cmp.Diff([]string{"Began all"}, pending()); diff != "" {
		t.Errorf("with results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"all"}, s.upgrade.Status.Notices[1].Failed); diff != "" {
		t.Errorf("given up (-want +got):\n%s", diff)
	}
	s.upgrade.Status.Notices, _ = Records(&s.upgrade, after, notices[1:], nil, nil, s.now)
	if got := pending(); got != nil {
		t.Errorf("without the notice in the policy: %q is pending", got)
	}
}

// TestAgain checks when the coordinator looks again by itself: when a state may be sent, and when one
// that was told may be told again.
func TestAgain(t *testing.T) {
	s := newStory().to(explains(v1alpha1.ReasonSkew, true))
	first := s.now
	if s.again == nil || !s.again.Equal(first.Add(lasting)) {
		t.Errorf("a new state: got %v, want in %s", s.again, lasting)
	}
	if s.to(active()); s.again != nil {
		t.Errorf("nothing is to be told: got %v", s.again)
	}
	if s.to(explains(v1alpha1.ReasonSkew, true)); s.again == nil || !s.again.Equal(first.Add(quiet)) {
		t.Errorf("the same state soon: got %v, want %s after the first", s.again, quiet)
	}
}

// TestAddedNotice checks that a notice which is added to the policy is told that the upgrade is stalled.
func TestAddedNotice(t *testing.T) {
	s := newStory().to(explains(v1alpha1.ReasonSkew, true))
	s.upgrade.Status.Notices = nil // as without a notice
	if s.to(explains(v1alpha1.ReasonSkew, true)).later(time.Minute); len(s.told) != 1 {
		t.Errorf("told %q", s.told)
	}
}

// TestRecordsAreFew checks that records beyond the limit are dropped: first those that have been sent, and of these the states.
func TestRecordsAreFew(t *testing.T) {
	s := newStory()
	s.to(active("w1"))
	s.upgrade.Status.Notices[0].Pending = nil
	first := s.upgrade.Status.Notices[0].ID
	stalls := func(sent func(i int) bool) {
		for i := range 2 * maxRecords {
			s.later(time.Hour).to(explains(v1alpha1.ReasonSkew, true))
			if last := len(s.upgrade.Status.Notices) - 1; sent(i) {
				s.upgrade.Status.Notices[last].Pending = nil
			}
			s.to(active())
		}
		if n := len(s.upgrade.Status.Notices); n != maxRecords {
			t.Errorf("%d records, want %d", n, maxRecords)
		}
	}
	stalls(func(i int) bool { return i < maxRecords/2 || i%2 == 0 })
	if s.upgrade.Status.Notices[0].ID != first {
		t.Error("Began was dropped while there are states that were sent: it may be told again")
	}
	stalls(func(i int) bool { return i%2 == 0 })
	for _, r := range s.upgrade.Status.Notices[:maxRecords-1] {
		if r.Pending == nil {
			t.Errorf("%s is kept, though nobody waits for it", r.ID)
		}
	}
}
