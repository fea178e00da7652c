package v1alpha1

import "path"

// UpgradeReference names a ClusterUpgrade. The UID distinguishes it from another one
// with the same name.
type UpgradeReference struct {
	// Name of the ClusterUpgrade.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the ClusterUpgrade.
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// ObjectReference names the object that a finding is about.
type ObjectReference struct {
	// Kind of the object, such as Pod.
	Kind string `json:"kind"`
	// Namespace of the object; empty for an object of the whole cluster.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
}

// String returns the reference for people: Kind/namespace/name.
func (o ObjectReference) String() string {
	return path.Join(o.Kind, o.Namespace, o.Name)
}
