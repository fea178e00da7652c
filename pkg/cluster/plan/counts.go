package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxNotes is the API's limit on the nodes that a status names.
const maxNotes = 32

// count sets the status's node counts, and lists the active and the blocked nodes.
func (p *planner) count(t *target) {
	var c v1alpha1.NodeCounts
	t.Status.Active, t.Status.Blocked = nil, nil
	for i, n := range p.nodes {
		v := &p.verdicts[i]
		switch {
		case t.skips(n):
			continue
		case t.unsupported(n):
			c.Unsupported++
			continue
		case n.abandoned != nil:
			t.Status.Blocked = note(t.Status.Blocked, n, v)
			continue
		}
		c.Total++
		switch {
		case v.decision == Blocked:
			c.Blocked++
			t.Status.Blocked = note(t.Status.Blocked, n, v)
		case v.decision == Go || n.busy():
			c.Active++
			t.Status.Active = note(t.Status.Active, n, v)
		case v.decision == Done:
			c.Done++
		default:
			c.Waiting++
		}
	}
	t.Status.Nodes = c
	t.Status.Progress = fmt.Sprintf("%d/%d", c.Done, c.Total)
}

func note(list []v1alpha1.NodeNote, n *node, v *verdict) []v1alpha1.NodeNote {
	if len(list) == maxNotes {
		return list
	}
	return append(list, v1alpha1.NodeNote{Name: n.Name, Step: n.status.Step, Reason: v.hold.Reason, Message: clip(v.hold.Message)})
}
