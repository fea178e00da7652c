package coordinator

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// understood is the reason of a condition Valid that is True.
const understood = "Understood"

// setConditions sets the conditions in an object's list. Stalled is True, for the
// same reason, while valid is False: a person has to act. Otherwise it is absent.
func setConditions(list *[]metav1.Condition, generation int64, now time.Time, valid metav1.Condition, others ...metav1.Condition) {
	conditions := append([]metav1.Condition{valid}, others...)
	if valid.Status == metav1.ConditionFalse {
		valid.Type, valid.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
		conditions = append(conditions, valid)
	} else {
		meta.RemoveStatusCondition(list, v1alpha1.ConditionStalled)
	}
	for _, condition := range conditions {
		condition.ObservedGeneration = generation
		condition.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		meta.SetStatusCondition(list, condition)
	}
}
