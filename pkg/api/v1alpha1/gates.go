package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gate is a question that the coordinator asks before a node may take its slot, such as whether an
// alert fires. It is closed until it has been answered, and while it cannot be answered. Once a
// node has taken its slot its gates do not count: draining a node may itself fire alerts.
//
// +kubebuilder:validation:XValidation:rule="[has(self.prometheus), has(self.object), has(self.cluster)].filter(x, x).size() == 1",message="a gate has one question: either prometheus, object or cluster"
type Gate struct {
	// Name of the gate.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', and begin and end with a letter or digit"
	// +required
	Name string `json:"name"`
	// At says before what the gate is asked. Absent: before everything.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +optional
	At []GatePoint `json:"at,omitempty"`
	// TimeoutSeconds is how long an answer may take. Then the gate is closed.
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// Prometheus is a query.
	// +optional
	Prometheus *PrometheusGate `json:"prometheus,omitempty"`
	// Object is a condition that objects of the cluster have to meet.
	// +optional
	Object *ObjectGate `json:"object,omitempty"`
	// Cluster is another cluster that this one follows: it has to have run the version before.
	// +optional
	Cluster *ClusterGate `json:"cluster,omitempty"`
}

// ClusterGate is open for a version once another cluster has run it on every managed node for a while,
// and no node failed with it. A Reboot does not wait for it.
type ClusterGate struct {
	// KubeconfigSecretRef is the key of a Secret with a kubeconfig that reads the UpgradePolicy and the
	// coordinator's Lease of the other cluster. It has everything inline: a server, its certificate
	// authority, and a token or a client certificate. The default of its key is kubeconfig.
	// +required
	KubeconfigSecretRef SecretKeyReference `json:"kubeconfigSecretRef"`
	// SoakSeconds is how long the other cluster has to have run the version.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +required
	SoakSeconds int32 `json:"soakSeconds"`
	// SameDigests asks for the images whose digests the other cluster has run.
	// +default=true
	// +optional
	SameDigests *bool `json:"sameDigests,omitempty"`
}

// GatePoint is before what a gate is asked.
// +kubebuilder:validation:Enum=Upgrade;ControlPlane;Node
type GatePoint string

// The points.
const (
	GateAtUpgrade      GatePoint = "Upgrade"      // before the first node of an upgrade
	GateAtControlPlane GatePoint = "ControlPlane" // before each control-plane node
	GateAtNode         GatePoint = "Node"         // before each node, control planes included
)

// IsAt reports whether the gate is asked at one of the points.
func (g *Gate) IsAt(points ...GatePoint) bool {
	return len(g.At) == 0 || slices.ContainsFunc(g.At, func(at GatePoint) bool { return slices.Contains(points, at) })
}

// PrometheusGate asks a Prometheus, or what has its API. The gate is closed while the answer has a
// NaN or comes with warnings: an answer may be incomplete then.
//
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecretRef) || self.url.startsWith('https://')",message="a token is sent over https only",fieldPath=".tokenSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.caSecretRef) || self.url.startsWith('https://')",message="only an https address has a certificate",fieldPath=".caSecretRef"
type PrometheusGate struct {
	// URL of its API, without /api/v1, such as http://prometheus.monitoring.svc:9090.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+(/[^?#]*)?$')",message="must be an http or https address without a user, query or fragment, such as http://prometheus.monitoring.svc:9090"
	// +required
	URL string `json:"url"`
	// Query in PromQL, whose result is a vector, such as ALERTS{alertstate="firing",severity="critical"}.
	// What has to last for some time is said in PromQL, too.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Query string `json:"query"`
	// Expect is Empty if the gate is open while the query returns nothing, and NotEmpty if it
	// is open while the query returns something.
	// +required
	Expect Expectation `json:"expect"`
	// CASecretRef is the key of a Secret with the authorities that may sign the server's certificate.
	// The default of its key is ca.crt. Absent: those of the coordinator's image.
	// +optional
	CASecretRef *SecretKeyReference `json:"caSecretRef,omitempty"`
	// TokenSecretRef is the key of a Secret whose value is sent as a bearer token. The default of its
	// key is token.
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty"`
}

// Expectation is what the result of a query has to be.
// +kubebuilder:validation:Enum=Empty;NotEmpty
type Expectation string

// The expectations.
const (
	ExpectEmpty    Expectation = "Empty"
	ExpectNotEmpty Expectation = "NotEmpty"
)

// ObjectGate is open while every selected object meets the condition. It is closed if no object is
// selected. The coordinator may read only kinds that a ClusterRole with the label
// kubectl-upgrade.dev/aggregate-to-gates: "true" lets it get and list.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="objects are selected either by name or by selector"
// +kubebuilder:validation:XValidation:rule="self.apiVersion != 'v1' || self.kind != 'Secret'",message="Secrets are not read for gates",fieldPath=".kind"
type ObjectGate struct {
	// APIVersion of the objects, such as apps/v1.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$')",message="must be a group and a version, such as apps/v1, or v1"
	// +required
	APIVersion string `json:"apiVersion"`
	// Kind of the objects, such as StatefulSet.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="must be a kind, such as StatefulSet"
	// +required
	Kind string `json:"kind"`
	// Namespace of the objects. Absent: they have none, or those of all namespaces are
	// selected by labels.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// Selector selects the objects by their labels, at most 500 of them.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
	// Condition is a CEL expression over the variable object, such as
	// object.status.readyReplicas == object.spec.replicas.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Condition string `json:"condition"`
}

// IgnoredGate is a gate that an upgrade does not ask. Who may change an upgrade needs the verb
// ignore-gates on clusterupgrades to set it.
type IgnoredGate struct {
	// Name of the gate in the UpgradePolicy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Comment is why it is ignored, for people who read the record.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Comment string `json:"comment"`
	// By is the user who lets it be ignored, as the API server knows them. An admission
	// policy rejects any other name. Absent: it came from elsewhere, such as Git.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
}

// IgnoresGate reports whether the upgrade does not ask a gate.
func (s ClusterUpgradeSpec) IgnoresGate(name string) bool {
	return slices.ContainsFunc(s.IgnoreGates, func(g IgnoredGate) bool { return g.Name == name })
}

// GateStatus is the last answer to a gate's question while an upgrade is active.
type GateStatus struct {
	// Name of the gate.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// State is Open, Closed, or Unknown if the gate could not be asked. Nodes wait while it is
	// not Open.
	// +required
	State GateState `json:"state"`
	// Message is the answer, or why there is none.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// SinceTime is when the gate was found in this state first.
	// +required
	SinceTime metav1.Time `json:"sinceTime"`
	// AskedTime is when it was asked last. While nothing changes, it is up to a minute old.
	// +required
	AskedTime metav1.Time `json:"askedTime"`
	// Ran is what the other cluster has run.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Ran []RanVersion `json:"ran,omitempty"`
}

// GateState is what a gate's last answer means.
// +kubebuilder:validation:Enum=Open;Closed;Unknown
type GateState string

// The states.
const (
	GateOpen    GateState = "Open"
	GateClosed  GateState = "Closed"
	GateUnknown GateState = "Unknown"
)

// GateStatus returns the last answer to the question of the gate with that name. Nil: it has not
// been asked yet.
func (p *UpgradePolicy) GateStatus(name string) *GateStatus {
	for i := range p.Status.Gates {
		if p.Status.Gates[i].Name == name {
			return &p.Status.Gates[i]
		}
	}
	return nil
}
