package v1alpha1

import (
	"cmp"
	"path"
)

// UpgradeReference names a ClusterUpgrade. The UID distinguishes it from another one
// with the same name.
type UpgradeReference struct {
	// Name of the ClusterUpgrade.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// UID of the ClusterUpgrade.
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID string `json:"uid"`
}

// SecretKeyReference names a key of a Secret in the namespace kubectl-upgrade.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Secret"
	// +required
	Name string `json:"name"`
	// Key of the Secret. Absent: the default that the field names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'"
	// +optional
	Key string `json:"key,omitempty"`
}

// The keys of Secrets where a reference has none.
const (
	KubeconfigKey = "kubeconfig"
	CAKey         = "ca.crt"
	TokenKey      = "token"
	URLKey        = "url"
)

// Or returns the reference with the key, unless it has one.
func (r SecretKeyReference) Or(key string) SecretKeyReference {
	return SecretKeyReference{Name: r.Name, Key: cmp.Or(r.Key, key)}
}

// String returns the reference for people.
func (r SecretKeyReference) String() string { return "key " + r.Key + " of Secret " + r.Name }

// ObjectReference names the object that a finding is about.
type ObjectReference struct {
	// Kind of the object, such as Pod.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`
	// Namespace of the object; empty for an object of the whole cluster.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// String returns the reference for people: Kind/namespace/name.
func (o ObjectReference) String() string {
	return path.Join(o.Kind, o.Namespace, o.Name)
}
