package page

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// kind is what several steps look like: a color, with a word in the legend.
type kind struct {
	// Class is the name in the style sheet.
	Class string
	// Name is in the legend, and in what is shown for a bar.
	Name  string
	steps []v1alpha1.Step
}

var kinds = []kind{
	{"s", "stage the image", []v1alpha1.Step{v1alpha1.StepStaging}},
	{"k", "kubeadm", []v1alpha1.Step{v1alpha1.StepKubeadmAhead, v1alpha1.StepLocking, v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking}},
	{"d", "drain", []v1alpha1.Step{v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck}},
	{"r", "restart or reboot", []v1alpha1.Step{v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepRestarting, v1alpha1.StepVerifying}},
	{"o", "settle", []v1alpha1.Step{v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepUnlocking}},
	{"a", "aborted", []v1alpha1.Step{v1alpha1.StepAborting}},
	{"f", "failed", []v1alpha1.Step{v1alpha1.StepFailed, v1alpha1.StepRolledBack}},
}

// newer is the kind of steps of a newer agent.
var newer = kind{"k", "upgrade", nil}

var kindOf = func() map[v1alpha1.Step]*kind {
	of := map[v1alpha1.Step]*kind{}
	for i := range kinds {
		for _, step := range kinds[i].steps {
			of[step] = &kinds[i]
		}
	}
	return of
}()

// drawn returns the kind of a step; nil for one in which nothing is done.
func drawn(step v1alpha1.Step) *kind {
	if k := kindOf[step]; k != nil {
		return k
	}
	if step.Info().Phase == v1alpha1.PhaseCommitted {
		return &newer
	}
	return nil
}
