package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoticeEvent is what a notice may tell.
// +kubebuilder:validation:Enum=Announced;Began;NodeFailed;Stalled;Waiting;Ended
type NoticeEvent string

// The events.
const (
	NoticeAnnounced  NoticeEvent = "Announced"  // an upgrade is there whose start time is in the future
	NoticeBegan      NoticeEvent = "Began"      // its first node began
	NoticeNodeFailed NoticeEvent = "NodeFailed" // a node failed
	NoticeStalled    NoticeEvent = "Stalled"    // it waits for a person to solve a problem
	NoticeWaiting    NoticeEvent = "Waiting"    // it waits for what passes by itself, such as a window
	NoticeEnded      NoticeEvent = "Ended"      // it has an outcome
)

// Notice is a chat, or a program, that is told about upgrades.
type Notice struct {
	// Name of the notice, for messages and the metric.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', and begin and end with a letter or digit"
	// +required
	Name string `json:"name"`
	// URLSecretRef is the key of a Secret with the address as shoutrrr has it, such as
	// slack://hook:TOKEN@webhook. The coordinator may read it once a Role says so. The default of its
	// key is url.
	// +required
	URLSecretRef SecretKeyReference `json:"urlSecretRef"`
	// Events are what it is told. Absent: all.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	// +optional
	Events []NoticeEvent `json:"events,omitempty"`
	// Template is the text, as a template of Go's text/template, such as
	// "staging: {{.Text}}". Absent: {{.Text}}. docs/gates.md lists the fields.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Template string `json:"template,omitempty"`
}

// Wants reports whether the notice is told of the event.
func (n *Notice) Wants(event NoticeEvent) bool {
	return len(n.Events) == 0 || slices.Contains(n.Events, event)
}

// NoticeRecord is an event of which notices are told.
type NoticeRecord struct {
	// ID is the same whenever this event is sent again.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// Event is its kind.
	// +required
	Event NoticeEvent `json:"event"`
	// Time at which it was noticed.
	// +required
	Time metav1.Time `json:"time"`
	// Node that it is about.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`
	// Reason code.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// Message in one sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Pending are the notices that it was not sent to yet.
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Pending []string `json:"pending,omitempty"`
	// Failed are the notices that it could not be sent to for an hour.
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Failed []string `json:"failed,omitempty"`
}

// Notices returns the policy's notices; a policy that does not exist has none.
func (p *UpgradePolicy) Notices() []Notice {
	if p == nil {
		return nil
	}
	return p.Spec.Notices
}
