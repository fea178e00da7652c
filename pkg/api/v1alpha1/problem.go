package v1alpha1

// Problem is what prevents something on a node.
type Problem struct {
	// Reason is a code, such as SystemdTooOld.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=64
	// +required
	Reason string `json:"reason"`
	// Message is a sentence for people.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
}

// Reasons why no upgrade changes a node's versions.
const (
	UnsupportedArchitecture = "UnsupportedArchitecture" // there are no images for the node's architecture
	NoSysextImage           = "NoSysextImage"           // Kubernetes does not come as a sysext image
	NoSysupdate             = "NoSysupdate"             // systemd-sysupdate is not there
)

// Reasons why a node cannot be soft-rebooted.
const (
	SystemdTooOld   = "SystemdTooOld"   // systemd is older than 256
	OtherRootStaged = "OtherRootStaged" // /run/nextroot has another root file system
)

// Text returns the message. Without a problem it is empty.
func (p *Problem) Text() string {
	if p == nil {
		return ""
	}
	return p.Message
}
