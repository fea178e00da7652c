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
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Problems []RehearsalProblem `json:"problems,omitempty"`
	// Untried are the parts that could not be tried, and why, in the words of the program.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Untried []string `json:"untried,omitempty"`
	// LeftOut are the parts that are never tried, such as a hierarchy in a mutable mode.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	LeftOut []string `json:"leftOut,omitempty"`
	// Changes are what the upgrade would change of the node's static pods beside the version, as they are not what kubeadm
	// writes: a person has changed them, or kubeadm's ConfigMap since.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Changes []string `json:"changes,omitempty"`
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
	KubeadmRefuses     ProblemReason = "KubeadmRefuses"     // kubeadm would write no static pods, or refuses the configuration of its upgrade
	ProgramRefuses     ProblemReason = "ProgramRefuses"     // a program of the control plane would end at once, as it refuses its arguments
	FileMissing        ProblemReason = "FileMissing"        // an argument of a program of the control plane names a file that is not there
	AgentCannotBegin   ProblemReason = "AgentCannotBegin"   // the agent could not work with the kubelet's kubeconfig as it is now
)

// RehearsalOutcome compares what a rehearsal found with what the boot then did.
type RehearsalOutcome struct {
	// Result is what the rehearsal had found when the node took its slot.
	// +required
	Result RehearsalResult `json:"result"`
	// Boot is what the boot, or the restart of the kubelet, then did. Absent: it is not over.
	// +optional
	Boot BootResult `json:"boot,omitempty"`
	// Message is what the guard tried, or why the node did not come up.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// RehearsalResult is what a rehearsal found.
// +kubebuilder:validation:Enum=Passed;Failed;Incomplete
type RehearsalResult string

// What a rehearsal finds.
const (
	RehearsalPassed     RehearsalResult = "Passed"
	RehearsalFailed     RehearsalResult = "Failed"     // which the upgrade ignored
	RehearsalIncomplete RehearsalResult = "Incomplete" // a part could not be tried
)

// BootResult is what a boot did.
// +kubebuilder:validation:Enum=Up;Assisted;Down
type BootResult string

// What a boot does.
const (
	BootUp       BootResult = "Up"
	BootAssisted BootResult = "Assisted" // the node came up after one more merge or start by the guard
	BootDown     BootResult = "Down"
)

// Result returns what the rehearsal found.
func (r *Rehearsal) Result() RehearsalResult {
	switch {
	case len(r.Problems) > 0:
		return RehearsalFailed
	case len(r.Untried) > 0:
		return RehearsalIncomplete
	}
	return RehearsalPassed
}

// Differs reports whether the boot did what the rehearsal had not found, or did without it. o may be nil.
func (o *RehearsalOutcome) Differs() bool {
	return o != nil && (o.Result == RehearsalPassed && (o.Boot == BootAssisted || o.Boot == BootDown) || o.Result == RehearsalFailed && o.Boot == BootUp)
}

// String returns a sentence for people if there is something to say: the boot differed from its rehearsal, or the guard
// had to help. o may be nil.
func (o *RehearsalOutcome) String() string {
	if o == nil || o.Boot == "" || !o.Differs() && o.Message == "" {
		return ""
	}
	text := map[RehearsalResult]string{
		RehearsalPassed: "its rehearsal found nothing", RehearsalFailed: "its rehearsal found a problem, which was ignored", RehearsalIncomplete: "its rehearsal was incomplete",
	}[o.Result] + map[BootResult]string{
		BootUp: ", and it came up", BootAssisted: ", and it came up with the guard's help", BootDown: ", and it did not come up",
	}[o.Boot]
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}

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
