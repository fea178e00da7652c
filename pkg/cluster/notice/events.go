package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

const (
	// maxRecords is the API's limit on the events that a status has.
	maxRecords = 64
	// maxMessage is the API's limit on a message.
	maxMessage = 1024
	// quiet is how long an upgrade that stops or waits for the same reason again is not told
	// again.
	quiet = 10 * time.Minute
)

// Events returns what is to be told because the status of the upgrade u becomes after. What u's
// status has already is left out. Replicas that read the same return the same ids, but for those of
// Stalled and Waiting, which happen more than once: of two replicas only one can write them.
func Events(u *v1alpha1.ClusterUpgrade, after *v1alpha1.ClusterUpgradeStatus, now time.Time) []v1alpha1.NoticeRecord {
	e := &events{upgrade: u, now: now}
	before := &u.Status
	reason, message := after.Explain()
	reasonBefore, _ := before.Explain()
	start := u.Spec.StartTime
	switch {
	case before.Outcome != "":
		return nil
	case after.Outcome != "":
		e.failedNodes(after)
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeEnded, Reason: reason, Message: message})
		return e.list
	case reasonBefore == "" && start != nil && now.Before(start.Time):
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeAnnounced, Message: "no node begins before " + fleet.FormatTime(start.Time)})
	case len(before.Active) == 0 && len(after.Active) > 0:
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeBegan, Node: after.Active[0].Name, Message: "node " + after.Active[0].Name + " is the first"})
	}
	e.failedNodes(after)
	switch info := reason.Info(); {
	case reason == reasonBefore && after.Stalled() == before.Stalled():
	case after.Stalled():
		e.addOnceAWhile(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeStalled, Node: cause(after, reason), Reason: reason, Message: message})
	case !info.Routine && !info.WaitsForOthers:
		e.addOnceAWhile(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeWaiting, Reason: reason, Message: message})
	}
	return e.list
}

// events are what is to be told about one upgrade.
type events struct {
	upgrade *v1alpha1.ClusterUpgrade
	now     time.Time
	list    []v1alpha1.NoticeRecord
}

// add adds an event that an upgrade has once, or once for each node that fails.
func (e *events) add(r v1alpha1.NoticeRecord) {
	if r.Event == v1alpha1.NoticeNodeFailed {
		e.addWithID(r, string(r.Event), r.Node)
		return
	}
	e.addWithID(r, string(r.Event))
}

// addOnceAWhile adds an event that an upgrade may have again.
func (e *events) addOnceAWhile(r v1alpha1.NoticeRecord) {
	told := func(other v1alpha1.NoticeRecord) bool {
		return other.Event == r.Event && other.Reason == r.Reason && other.Node == r.Node && e.now.Sub(other.Time.Time) < quiet
	}
	if !slices.ContainsFunc(e.upgrade.Status.Notices, told) {
		e.addWithID(r, string(r.Event), r.Node, string(r.Reason), e.now.UTC().Format(time.RFC3339))
	}
}

func (e *events) addWithID(r v1alpha1.NoticeRecord, parts ...string) {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(e.upgrade.UID)}, parts...), "\n")))
	r.ID, r.Time, r.Message = hex.EncodeToString(sum[:6]), metav1.NewTime(e.now.UTC().Truncate(time.Second)), oneLine(r.Message)
	known := func(other v1alpha1.NoticeRecord) bool { return other.ID == r.ID }
	if !slices.ContainsFunc(e.upgrade.Status.Notices, known) && !slices.ContainsFunc(e.list, known) {
		e.list = append(e.list, r)
	}
}

// failedNodes adds the nodes that failed. A status names the first 32 nodes that failed or wait for
// a person; the others are in nobody's notice.
func (e *events) failedNodes(after *v1alpha1.ClusterUpgradeStatus) {
	for _, n := range after.Blocked {
		failedBefore := func(other v1alpha1.NodeNote) bool { return other.Name == n.Name && failed(other) }
		if failed(n) && !slices.ContainsFunc(e.upgrade.Status.Blocked, failedBefore) {
			e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeNodeFailed, Node: n.Name, Reason: n.Reason, Message: n.Message})
		}
	}
}

func failed(n v1alpha1.NodeNote) bool {
	return n.Reason != v1alpha1.ReasonAbandoned && n.Step.Info().Phase == v1alpha1.PhaseStopped
}

// cause returns the node that the upgrade stopped for; empty: it stopped for no single node.
func cause(s *v1alpha1.ClusterUpgradeStatus, reason v1alpha1.Reason) string {
	for _, n := range s.Blocked {
		if n.Reason == reason || reason == v1alpha1.ReasonNodeFailed && failed(n) {
			return n.Name
		}
	}
	return ""
}

// oneLine returns a message, which a node may have written, as one line of bounded length.
func oneLine(message string) string {
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	return message
}

// Key is one event for one notice.
type Key struct{ ID, Notice string }

// Result is what came of a Key.
type Result int

// The results.
const (
	Sent   Result = iota + 1
	GaveUp        // it could not be sent for as long as it is retried
)

// Records returns the records that the status after of the upgrade u should have: those that u has,
// with what was sent meanwhile, and new events. predicted completes the message of Announced.
func Records(u *v1alpha1.ClusterUpgrade, after *v1alpha1.ClusterUpgradeStatus, notices []v1alpha1.Notice, results map[Key]Result, predicted func() string, now time.Time) []v1alpha1.NoticeRecord {
	records := slices.Clone(u.Status.Notices)
	for i := range records {
		records[i] = settled(records[i], notices, results)
	}
	for _, r := range Events(u, after, now) {
		for i := range notices {
			if notices[i].Wants(r.Event) {
				r.Pending = append(r.Pending, notices[i].Name)
			}
		}
		if r.Pending == nil {
			continue
		}
		if r.Event == v1alpha1.NoticeAnnounced {
			r.Message = oneLine(r.Message + predicted())
		}
		records = append(records, r)
	}
	return newest(records)
}

// settled returns the record with the results. A notice that the policy does not have any more is
// told nothing.
func settled(r v1alpha1.NoticeRecord, notices []v1alpha1.Notice, results map[Key]Result) v1alpha1.NoticeRecord {
	var pending []string
	r.Failed = slices.Clone(r.Failed)
	for _, name := range r.Pending {
		switch {
		case !slices.ContainsFunc(notices, func(n v1alpha1.Notice) bool { return n.Name == name }):
		case results[Key{r.ID, name}] == GaveUp:
			r.Failed = append(r.Failed, name)
		case results[Key{r.ID, name}] != Sent:
			pending = append(pending, name)
		}
	}
	r.Pending = pending
	return r
}

// newest drops the oldest records beyond the limit, those first that nobody waits for.
func newest(records []v1alpha1.NoticeRecord) []v1alpha1.NoticeRecord {
	for len(records) > maxRecords {
		i := max(0, slices.IndexFunc(records, func(r v1alpha1.NoticeRecord) bool { return len(r.Pending) == 0 }))
		records = slices.Delete(records, i, i+1)
	}
	return records
}

// Pending is an event that is still to be sent to a notice.
type Pending struct {
	Key
	Time time.Time
	Data Data
}

// AllPending returns what is still to be sent, the oldest first.
func AllPending(upgrades []v1alpha1.ClusterUpgrade) []Pending {
	var all []Pending
	for i := range upgrades {
		u := &upgrades[i]
		for _, r := range u.Status.Notices {
			for _, name := range r.Pending {
				all = append(all, Pending{Key: Key{r.ID, name}, Time: r.Time.Time, Data: NewData(u, r)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Pending) int { return a.Time.Compare(b.Time) })
	return all
}

// Prediction returns what Announced says about the first and the last node of a plan.
func Prediction(first, last string, begins, ends *time.Time) string {
	switch {
	case begins == nil:
		return ""
	case ends == nil:
		return fmt.Sprintf("; node %s is expected to be the first, at %s", first, fleet.FormatTime(*begins))
	}
	return fmt.Sprintf("; node %s is expected to be the first, at %s, and node %s the last, back at %s", first, fleet.FormatTime(*begins), last, fleet.FormatTime(*ends))
}
