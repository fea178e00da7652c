package v1alpha1

// UpgradeType is the kind of change that an upgrade makes.
// +kubebuilder:validation:Enum=Patch;Minor;Reboot;Rollback;Certificates
type UpgradeType string

// The types of upgrade.
const (
	TypePatch  UpgradeType = "Patch"  // a new patch of the running minor
	TypeMinor  UpgradeType = "Minor"  // the next minor
	TypeReboot UpgradeType = "Reboot" // a reboot that the operating system asks for
	// TypeRollback returns kubelets to a former patch of their minor. It is never derived from a
	// version: a person asks for it.
	TypeRollback UpgradeType = "Rollback"
	// TypeCertificates renews the certificates of control planes that kubeadm has issued.
	TypeCertificates UpgradeType = "Certificates"
)

// UpgradeTypes are all types of upgrade.
var UpgradeTypes = []UpgradeType{TypePatch, TypeMinor, TypeReboot, TypeRollback, TypeCertificates}

// HasVersion reports whether an upgrade of the type brings a version of Kubernetes. An empty type is
// derived from a version.
func (t UpgradeType) HasVersion() bool { return t != TypeReboot && t != TypeCertificates }

// RunsKubeadmUpgrade reports whether an upgrade of the type runs `kubeadm upgrade`, which replaces the
// static pods of control planes.
func (t UpgradeType) RunsKubeadmUpgrade() bool { return t.HasVersion() && t != TypeRollback }
