package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LabelSelector chooses objects by their labels. It has the shape of a
// metav1.LabelSelector, with limits that let the API server check keys and
// values when the object is written. An empty selector matches everything.
//
// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : !has(e.values) || size(e.values) == 0)",message="an operator is In or NotIn with values, or Exists or DoesNotExist without",fieldPath=".matchExpressions"
// +structType=atomic
type LabelSelector struct {
	// MatchLabels are labels that an object must have, all of them.
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="a label's key is a name such as pool or example.com/pool"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// MatchExpressions are requirements that an object must meet, all of them.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is one requirement of a selector.
type LabelRequirement struct {
	// Key of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="a label's key is a name such as pool or example.com/pool"
	// +required
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist.
	// +required
	Operator LabelOperator `json:"operator"`
	// Values are those that In and NotIn compare with.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelOperator relates a label to values, as metav1.LabelSelectorOperator does.
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
type LabelOperator string

// LabelValue is the value of a label: at most 63 letters, digits, '-', '_' and
// '.', beginning and ending with a letter or digit. It is checked by a pattern, as
// a CEL rule on each value of each selector would exceed the API server's budget.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// NewLabelSelector returns the selector with this type.
func NewLabelSelector(from *metav1.LabelSelector) *LabelSelector {
	s := &LabelSelector{}
	for key, value := range from.MatchLabels {
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]LabelValue{}
		}
		s.MatchLabels[key] = LabelValue(value)
	}
	for _, e := range from.MatchExpressions {
		one := LabelRequirement{Key: e.Key, Operator: LabelOperator(e.Operator)}
		for _, value := range e.Values {
			one.Values = append(one.Values, LabelValue(value))
		}
		s.MatchExpressions = append(s.MatchExpressions, one)
	}
	return s
}

// hostname is the label of a Node with its hostname.
const hostname = "kubernetes.io/hostname"

// NamesNodes reports whether the selector lists nodes by nothing but their hostnames, as kubectl
// selects nodes that a person named.
func (s *LabelSelector) NamesNodes() bool {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) != 1 {
		return false
	}
	for _, e := range s.MatchExpressions {
		return e.Key == hostname && e.Operator == "In"
	}
	return s.MatchLabels[hostname] != ""
}

// AsSelector returns the selector as a labels.Selector. The error names a key,
// value or operator that Kubernetes does not accept.
func (s LabelSelector) AsSelector() (labels.Selector, error) {
	selector := metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(&selector, key, string(value))
	}
	for _, e := range s.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator)}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(&selector)
}
