package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// kubeadmWithin ends a kubeadm that hangs. Measured: under 3 minutes for a minor
// on two cores; kubeadm's own waits are 5 minutes for each component.
const kubeadmWithin = 40 * time.Minute

var kubeadmUpgrade = define(Entry{
	Verb:         verb.Kubeadm,
	Help:         "run kubeadm upgrade from the staged image",
	Ordered:      true,
	Within:       kubeadmWithin,
	Failed:       v1alpha1.ReasonKubeadmFailed,
	Image:        true,
	ChangesFacts: true,
	Ended:        kubeadm.Ended,
}, kubeadmArgs, kubeadm.Upgrade)

func kubeadmArgs(_ context.Context, o Order) (kubeadm.UpgradeArgs, error) {
	image, err := o.image()
	return kubeadm.UpgradeArgs{Version: o.Spec.Version, Command: o.Spec.Kubeadm, SHA256: image.SHA256()}, err
}
