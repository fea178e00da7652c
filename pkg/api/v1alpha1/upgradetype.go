package v1alpha1

// UpgradeType is the kind of change that an upgrade makes.
// +kubebuilder:validation:Enum=Patch;Minor;Reboot
type UpgradeType string

// The types of upgrade.
const (
	TypePatch  UpgradeType = "Patch"  // a new patch of the running minor
	TypeMinor  UpgradeType = "Minor"  // the next minor
	TypeReboot UpgradeType = "Reboot" // a reboot that the operating system asks for
)
