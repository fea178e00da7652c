package v1alpha1

// ProblemReason is the code of a Problem. A newer agent may have others.
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
// +kubebuilder:validation:MaxLength=64
type ProblemReason string

// Problem is what prevents something on a node.
type Problem struct {
	// Reason is a code, such as SystemdTooOld.
	// +required
	Reason ProblemReason `json:"reason"`
	// Message is a sentence for people.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
}

// Reasons why no upgrade changes a node's versions.
const (
	UnsupportedArchitecture ProblemReason = "UnsupportedArchitecture" // there are no images for the node's architecture
	NoSysextImage           ProblemReason = "NoSysextImage"           // Kubernetes does not come as a sysext image
	NoSysupdate             ProblemReason = "NoSysupdate"             // systemd-sysupdate is not there
)

// Reasons why a node cannot be soft-rebooted.
const (
	SystemdTooOld   ProblemReason = "SystemdTooOld"   // systemd is older than 256
	OtherRootStaged ProblemReason = "OtherRootStaged" // /run/nextroot has another root file system
)

// Text returns the message. Without a problem it is empty.
func (p *Problem) Text() string {
	if p == nil {
		return ""
	}
	return p.Message
}
