package v1alpha1

// UpgradeType is the kind of change that an upgrade makes.
// +kubebuilder:validation:Enum=Patch;Minor;Reboot;Rollback
type UpgradeType string

// The types of upgrade.
const (
	TypePatch  UpgradeType = "Patch"  // a new patch of the running minor
	TypeMinor  UpgradeType = "Minor"  // the next minor
	TypeReboot UpgradeType = "Reboot" // a reboot that the operating system asks for
	// TypeRollback returns kubelets to a former patch of their minor. It is never derived from a
	// version: a person asks for it.
	TypeRollback UpgradeType = "Rollback"
)

// UpgradeTypes are all types of upgrade.
var UpgradeTypes = []UpgradeType{TypePatch, TypeMinor, TypeReboot, TypeRollback}

// KubeletsOnly reports whether an upgrade of the type runs no kubeadm: the static pods of
// control planes stay as they are.
func (t UpgradeType) KubeletsOnly() bool { return t == TypeReboot || t == TypeRollback }
