package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// spans returns the spans of one piece of a record. The first piece has the upgrade's. The
// IDs are derived from the upgrade's UID, so that the pieces make one trace.
func spans(r *v1alpha1.UpgradeRecord) []span {
	t := traceOf(r.Upgrade.UID)
	root := t.span("", "upgrade "+r.Upgrade.Name, r.CompletionTime.Time, r.CompletionTime.Time)
	if r.TriggerTime != nil {
		root.Start = r.TriggerTime.UnixNano()
	}
	root.Attributes = attributes(
		[2]string{"kubectl_upgrade.upgrade", r.Upgrade.Name}, [2]string{"kubectl_upgrade.upgrade.uid", r.Upgrade.UID},
		[2]string{"kubectl_upgrade.type", string(r.Type)}, [2]string{"kubectl_upgrade.outcome", string(r.Outcome)},
		[2]string{"kubectl_upgrade.from", r.FromVersion}, [2]string{"kubectl_upgrade.version", r.Version},
	)
	if r.Outcome == v1alpha1.OutcomeFailed || r.Outcome == v1alpha1.OutcomeRolledBack {
		root.Status = &status{Code: codeError, Message: fmt.Sprintf("%s: %s", r.Reason, r.Message)}
	}
	var list []span
	if r.Piece <= 1 {
		list = append(list, root)
	}
	for i := range r.Nodes {
		list = append(list, t.node(root.SpanID, &r.Nodes[i])...)
	}
	return list
}

// trace is the ID of a trace.
type trace string

func traceOf(uid string) trace { return trace(digest(uid, 16)) }

func digest(text string, size int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:size])
}

// span returns a span below parent. Its name has to differ from those of its siblings that
// begin at the same time.
func (t trace) span(parent, name string, start, end time.Time) span {
	id := digest(fmt.Sprint(t, "/", parent, "/", name, "/", start.UnixNano()), 8)
	if parent == "" {
		id = digest(string(t), 8)
	}
	return span{TraceID: string(t), SpanID: id, ParentSpanID: parent, Name: name, Kind: kindInternal, Start: start.UnixNano(), End: end.UnixNano()}
}

// node returns the spans of a node and its steps; none if it never began.
func (t trace) node(parent string, n *v1alpha1.NodeRecord) []span {
	if len(n.Steps) == 0 {
		return nil
	}
	first, last := n.Steps[0].StartTime.Time, n.Steps[0].StartTime.Time
	for _, step := range n.Steps {
		if step.StartTime.After(last) {
			last = step.StartTime.Time
		}
		if step.EndTime != nil && step.EndTime.After(last) {
			last = step.EndTime.Time
		}
	}
	whole := t.span(parent, "node "+n.Name, first, last)
	whole.Attributes = attributes(
		[2]string{"k8s.node.name", n.Name}, [2]string{"kubectl_upgrade.from", n.From}, [2]string{"kubectl_upgrade.version", n.To},
		[2]string{"kubectl_upgrade.attempts", strconv.Itoa(int(n.Attempts))}, [2]string{"kubectl_upgrade.reason", string(n.Reason)},
	)
	list := []span{whole}
	for _, step := range n.Steps {
		end := last
		if step.EndTime != nil {
			end = step.EndTime.Time
		}
		one := t.span(whole.SpanID, string(step.Step), step.StartTime.Time, end)
		one.Attributes = attributes([2]string{"k8s.node.name", n.Name})
		if step.Step == v1alpha1.StepAborting || step.Step.Info().Phase == v1alpha1.PhaseStopped {
			one.Status = &status{Code: codeError, Message: string(n.Reason)}
		}
		list = append(list, one)
	}
	if stopped := n.Steps[len(n.Steps)-1].Step; stopped.Info().Phase == v1alpha1.PhaseStopped {
		list[0].Status = &status{Code: codeError, Message: string(n.Reason)}
	}
	return list
}
