package hostverb

import (
	"context"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var pull = Entry{
	Verb:         verb.Pull,
	Help:         "pull the container images of a control plane",
	ChecksSpec:   true,
	Timeout:      kubeadmTimeout,
	Failed:       v1alpha1.ReasonPullFailed,
	ControlPlane: true,
	Policy:       PolicyManages,
	NeedsNoState: true,
	Args:         args(pullArgs),
}

func pullArgs(ctx context.Context, o Input) (verb.PullArgs, error) {
	image, err := o.image()
	if err != nil {
		return verb.PullArgs{}, err
	}
	config, err := o.ClusterConfiguration(ctx)
	return verb.PullArgs{Version: o.Spec.Version, SHA256: image.SHA256(), ClusterConfiguration: config}, err
}
