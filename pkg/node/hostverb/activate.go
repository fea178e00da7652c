package hostverb

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var activate = Entry{
	Verb:         verb.Activate,
	Help:         "select a staged image for the next boot",
	ChecksSpec:   true,
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonActivateFailed,
	ChangesFacts: true,
	Args:         args(activateArgs),
}

func activateArgs(_ context.Context, o Input) (verb.ActivateArgs, error) {
	image, err := o.image()
	args := verb.ActivateArgs{
		Version: o.Spec.Version, SHA256: image.SHA256(), Method: o.Method, SoftReboots: o.SoftReboots,
		GuardWithin: time.Duration(ptr.Deref(o.Spec.GuardSeconds, 0)) * time.Second,
	}
	if o.Spec.Upgrade != nil {
		args.Upgrade = o.Spec.Upgrade.UID
	}
	return args, err
}
