package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

const (
	// maxRecords is the API's limit on the events that a status has.
	maxRecords = 64
	// maxMessage is the API's limit on a message.
	maxMessage = 1024
	// quiet is how long an upgrade that is stalled or waits for the same reason again is not told
	// again.
	quiet = 10 * time.Minute
	// lasting is how long an upgrade must be stalled or wait before that is sent: often it waits a
	// second only, such as for the first answer of a gate.
	lasting = 30 * time.Second
)

// eventsOf returns what is to be told because the status of the upgrade u becomes after. What the
// records have already is left out. Replicas that read the same return the same ids, but for those of
// Stalled and Waiting, which happen more than once: of two replicas only one can write them.
func eventsOf(u *v1alpha1.ClusterUpgrade, after *v1alpha1.ClusterUpgradeStatus, records []v1alpha1.NoticeRecord, now time.Time) *events {
	e := &events{upgrade: u, records: records, now: now}
	before := &u.Status
	reason, message := after.Explain()
	reasonBefore, _ := before.Explain()
	start := u.Spec.StartTime
	switch {
	case before.Outcome != "":
		return e
	case after.Outcome != "":
		e.failedNodes(after)
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeEnded, Reason: reason, Message: message})
		return e
	case reasonBefore == "" && start != nil && now.Before(start.Time):
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeAnnounced, Message: "no node begins before " + clusterstate.FormatTime(start.Time)})
	case len(before.Active) == 0 && len(after.Active) > 0:
		e.add(v1alpha1.NoticeRecord{Event: v1alpha1.NoticeBegan, Node: after.Active[0].Name, Message: "node " + after.Active[0].Name + " is the first"})
	}
	e.failedNodes(after)
	if state, tellable := stateOf(after); tellable {
		e.addState(state, after, reason != reasonBefore || after.Stalled() != before.Stalled())
	}
	return e
}

// stateOf returns what is told of an upgrade in which nothing happens: it is stalled, or waits.
func stateOf(s *v1alpha1.ClusterUpgradeStatus) (state v1alpha1.NoticeRecord, tellable bool) {
	reason, message := s.Explain()
	switch info := reason.Info(); {
	case s.Outcome != "":
	case s.Stalled():
		return v1alpha1.NoticeRecord{Event: v1alpha1.NoticeStalled, Node: cause(s, reason), Reason: reason, Message: message}, true
	case reason != "" && !info.Routine && !info.WaitsForOthers:
		return v1alpha1.NoticeRecord{Event: v1alpha1.NoticeWaiting, Reason: reason, Message: message}, true
	}
	return v1alpha1.NoticeRecord{}, false
}

func isState(r v1alpha1.NoticeRecord) bool {
	return r.Event == v1alpha1.NoticeStalled || r.Event == v1alpha1.NoticeWaiting
}

func sameState(a, b v1alpha1.NoticeRecord) bool { return a.Event == b.Event && a.Reason == b.Reason }

// isEarly reports whether the record is of a state that has not lasted long enough to be sent.
func isEarly(r v1alpha1.NoticeRecord, now time.Time) bool {
	return isState(r) && now.Sub(r.Time.Time) < lasting
}

// events are what is to be told about one upgrade.
type events struct {
	upgrade *v1alpha1.ClusterUpgrade
	records []v1alpha1.NoticeRecord // what was told, or is to be
	now     time.Time
	list    []v1alpha1.NoticeRecord
	again   *time.Time // when there may be more, even if nothing changes
}

// add adds an event that an upgrade has once, or once for each node that fails.
func (e *events) add(r v1alpha1.NoticeRecord) {
	if r.Event == v1alpha1.NoticeNodeFailed {
		e.addWithID(r, string(r.Event), r.Node)
		return
	}
	e.addWithID(r, string(r.Event))
}

// addState adds the state in which the upgrade is, unless it was told already. begins reports
// whether the upgrade was in another one before.
func (e *events) addState(state v1alpha1.NoticeRecord, after *v1alpha1.ClusterUpgradeStatus, begins bool) {
	if i := lastIndex(e.records, isState); i >= 0 && sameState(e.records[i], state) {
		last := e.records[i].Time
		stalled := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionStalled)
		if again := begins && e.now.Sub(last.Time) >= quiet || stalled != nil && last.Before(&stalled.LastTransitionTime); !again {
			return
		}
	}
	same := func(r v1alpha1.NoticeRecord) bool { return sameState(r, state) && r.Node == state.Node }
	if i := lastIndex(e.records, same); i >= 0 && e.now.Sub(e.records[i].Time.Time) < quiet {
		e.again = new(e.records[i].Time.Add(quiet))
		return
	}
	e.addWithID(state, string(state.Event), state.Node, string(state.Reason), e.now.UTC().Format(time.RFC3339))
}

func lastIndex(records []v1alpha1.NoticeRecord, is func(v1alpha1.NoticeRecord) bool) int {
	for i, r := range slices.Backward(records) {
		if is(r) {
			return i
		}
	}
	return -1
}

func (e *events) addWithID(r v1alpha1.NoticeRecord, parts ...string) {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(e.upgrade.UID)}, parts...), "\n")))
	r.ID, r.Time, r.Message = hex.EncodeToString(sum[:6]), metav1.NewTime(e.now.UTC().Truncate(time.Second)), oneLine(r.Message)
	known := func(other v1alpha1.NoticeRecord) bool { return other.ID == r.ID }
	if !slices.ContainsFunc(e.records, known) && !slices.ContainsFunc(e.list, known) {
		e.list = append(e.list, r)
	}
}

// failedNodes adds the nodes that failed. A status names the first 32 nodes that failed or wait for
// a person; no notice names the others.
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

// Prediction returns what Announced says about the first and the last node of a plan.
func Prediction(first, last string, begins, ends *time.Time) string {
	switch {
	case begins == nil:
		return ""
	case ends == nil:
		return fmt.Sprintf("; node %s is expected to be the first, at %s", first, clusterstate.FormatTime(*begins))
	}
	return fmt.Sprintf("; node %s is expected to be the first, at %s, and node %s the last, back at %s", first, clusterstate.FormatTime(*begins), last, clusterstate.FormatTime(*ends))
}
