package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// unknownMark holds a node whose slot annotation names a slot that was not reserved for
// it. Its agent removes such an annotation.
func unknownMark(_ *cluster, n *node) fleet.Hold {
	if n.SlotAnnotation == "" || n.marked() {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("the Node has the annotation %s: %q, a slot that was not reserved for it; if it comes back after it was removed, find out who writes it", v1alpha1.SlotAnnotation, n.SlotAnnotation)
	return fleet.Hold{Reason: v1alpha1.ReasonUnknownMark, Message: message}
}
