package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var stage = define(Entry{
	Verb:         verb.Stage,
	Help:         "download and verify an image without activating it",
	ChecksSpec:   true,
	Timeout:      time.Hour, // for the download; then it is tried again
	Failed:       v1alpha1.ReasonStageFailed,
	ChangesFacts: true,
	NeedsNoState: true,
}, stageArgs, sysupdate.Stage)

func stageArgs(ctx context.Context, o Input) (sysupdate.StageArgs, error) {
	image, err := o.image()
	if err != nil {
		return sysupdate.StageArgs{}, err
	}
	keyring, err := o.Keyring(ctx)
	return sysupdate.StageArgs{Version: o.Spec.Version, URL: image.URL, SHA256: image.SHA256(), Keyring: keyring}, err
}
