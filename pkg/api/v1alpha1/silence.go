package v1alpha1

import "strings"

// Silence has an Alertmanager silence the alerts of a node while it is at work: while it holds a slot
// and is being upgraded. Alerts of kubectl-upgrade itself, whose alertname begins with
// KubectlUpgrade, are not silenced. A silence lasts for five minutes, and is extended while the
// node is at work: until it is done, has failed, or has taken twice the expected time and five
// minutes, or an hour where none is known.
//
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecretRef) || self.url.startsWith('https://')",message="a token is sent over https only",fieldPath=".tokenSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.caSecretRef) || self.url.startsWith('https://')",message="only an https address has a certificate",fieldPath=".caSecretRef"
type Silence struct {
	// Name of the silence, for messages.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', and begin and end with a letter or digit"
	// +required
	Name string `json:"name"`
	// URL of the Alertmanager, without /api/v2, such as http://alertmanager.monitoring.svc:9093.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+(/[^?#]*)?$')",message="must be an http or https address without a user, query or fragment, such as http://alertmanager.monitoring.svc:9093"
	// +required
	URL string `json:"url"`
	// Matchers are the labels that an alert must have, all of them. In one at least, the value
	// has {node}.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.exists(m, m.value.contains('{node}'))",message="the value of one must have {node}, or the alerts of every node are silenced"
	// +required
	Matchers []SilenceMatcher `json:"matchers"`
	// CASecretRef is the key of a Secret with the authorities that may sign the server's certificate.
	// The default of its key is ca.crt. Absent: those of the coordinator's image.
	// +optional
	CASecretRef *SecretKeyReference `json:"caSecretRef,omitempty"`
	// TokenSecretRef is the key of a Secret whose value is sent as a bearer token. The default of its
	// key is token.
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty"`
}

// SilenceMatcher is a label of an alert.
type SilenceMatcher struct {
	// Name of the label, such as node or instance.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z_][a-zA-Z0-9_]*$')",message="must be the name of a label, such as node"
	// +required
	Name string `json:"name"`
	// Value that the label must have. {node} stands for the Node's name, as in {node}:9100.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Value string `json:"value"`
}

// For returns the value for a node.
func (m SilenceMatcher) For(node string) string {
	return strings.ReplaceAll(m.Value, "{node}", node)
}

// Silences returns the policy's silences; a policy that does not exist has none.
func (p *UpgradePolicy) Silences() []Silence {
	if p == nil {
		return nil
	}
	return p.Spec.Silences
}
