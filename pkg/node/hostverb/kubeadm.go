package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// kubeadmTimeout ends a kubeadm that hangs. A minor took under 3 minutes on two
// cores; kubeadm itself waits up to 5 minutes for each component.
const kubeadmTimeout = 40 * time.Minute

var kubeadmUpgrade = Entry{
	Verb:         verb.Kubeadm,
	Help:         "run kubeadm upgrade from the staged image",
	ChecksSpec:   true,
	Timeout:      kubeadmTimeout,
	Failed:       v1alpha1.ReasonKubeadmFailed,
	MountsImage:  true,
	ChangesFacts: true,
	Args:         args(kubeadmArgs),
}

func kubeadmArgs(_ context.Context, o Input) (verb.KubeadmArgs, error) {
	image, err := o.image()
	return verb.KubeadmArgs{Version: o.Spec.Version, Command: o.Spec.Kubeadm, SHA256: image.SHA256()}, err
}
