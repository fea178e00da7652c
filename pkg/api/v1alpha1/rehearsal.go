package v1alpha1

// Rehearsal is what came of a trial of the node's next boot, with the node left as it is: the system extensions that the
// boot will find were merged in a place of their own, and the kubelet of the image read the node's configuration.
type Rehearsal struct {
	// Version is the one that the boot merges, such as v1.34.5: a staged one, or for a reboot the active one.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Version string `json:"version"`
	// Problems are why the node would not come back from that boot as it should.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=160
	// +optional
	Problems []RehearsalProblem `json:"problems,omitempty"`
	// Untried are the parts that could not be tried, and why, in the words of the program.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Untried []string `json:"untried,omitempty"`
	// LeftOut are the parts that are never tried, such as a hierarchy in a mutable mode.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	LeftOut []string `json:"leftOut,omitempty"`
}

// RehearsalProblem is one thing that would go wrong at a boot.
type RehearsalProblem struct {
	Problem `json:",inline"`
	// Cause is what has to be changed: Version, as the trial with what runs now did not have the problem; Node, as it did.
	// +required
	Cause RehearsalCause `json:"cause"`
}

// RehearsalCause is what a problem comes from.
// +kubebuilder:validation:Enum=Version;Node
type RehearsalCause string

// What problems come from.
const (
	CauseVersion RehearsalCause = "Version"
	CauseNode    RehearsalCause = "Node"
)

// Reasons why a boot would not bring a node back.
const (
	NothingMerges      ProblemReason = "NothingMerges"      // systemd-sysext would merge nothing
	ImageNotMerged     ProblemReason = "ImageNotMerged"     // it would leave out the image of Kubernetes
	ExtensionNotMerged ProblemReason = "ExtensionNotMerged" // it would leave out another extension that is merged now
	FolderReadOnly     ProblemReason = "FolderReadOnly"     // an extension would make /opt/kubectl-upgrade read-only
	KubeletElsewhere   ProblemReason = "KubeletElsewhere"   // kubelet.service starts a kubelet that no image brings
	KubeletNotStarted  ProblemReason = "KubeletNotStarted"  // no unit would start kubelet.service, or its program is missing
	RuntimeMissing     ProblemReason = "RuntimeMissing"     // containerd's program or configuration would be missing
	KubeletRefuses     ProblemReason = "KubeletRefuses"     // the kubelet would end at once, as it refuses its flags or configuration
)

// CheckRehearsal is the id of the check that has the problems of rehearsals, for spec.ignoreChecks.
const CheckRehearsal = "rehearsal"

// Rehearsed returns the rehearsal of a boot that merges a version; nil if there is none. f may be nil.
func (f *NodeFacts) Rehearsed(version string) *Rehearsal {
	if f == nil {
		return nil
	}
	for i := range f.Rehearsals {
		if f.Rehearsals[i].Version == version {
			return &f.Rehearsals[i]
		}
	}
	return nil
}
