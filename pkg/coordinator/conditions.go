package coordinator

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// understood is the reason of a condition Valid that is True.
const understood = "Understood"

// setConditions sets the conditions in an object's list, and Stalled to True with
// the reason and message of the first that is False. While none is, Stalled is
// absent.
func setConditions(list *[]metav1.Condition, generation int64, now time.Time, conditions ...metav1.Condition) {
	for _, condition := range conditions {
		if condition.Status == metav1.ConditionFalse {
			condition.Type, condition.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
			conditions = append(conditions, condition)
			break
		}
	}
	if conditions[len(conditions)-1].Type != v1alpha1.ConditionStalled {
		meta.RemoveStatusCondition(list, v1alpha1.ConditionStalled)
	}
	for _, condition := range conditions {
		condition.ObservedGeneration = generation
		condition.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		meta.SetStatusCondition(list, condition)
	}
}
