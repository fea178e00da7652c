package hostverb

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var activate = define(Entry{
	Verb:         verb.Activate,
	Help:         "select a staged image for the next boot",
	ChecksSpec:   true,
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonActivateFailed,
	ChangesFacts: true,
}, activateArgs, func(ctx context.Context, l host.Layout, args sysupdate.ActivateArgs, _ *host.Log) (*sysupdate.ActivateOutput, error) {
	return sysupdate.Activate(ctx, l, args)
})

func activateArgs(_ context.Context, o Input) (sysupdate.ActivateArgs, error) {
	image, err := o.image()
	args := sysupdate.ActivateArgs{
		Version: o.Spec.Version, SHA256: image.SHA256(), Method: o.Method, SoftReboots: o.SoftReboots,
		GuardWithin: time.Duration(ptr.Deref(o.Spec.GuardSeconds, 0)) * time.Second,
	}
	if o.Spec.Upgrade != nil {
		args.Upgrade = o.Spec.Upgrade.UID
	}
	return args, err
}
