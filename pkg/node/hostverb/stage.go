package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var stage = Entry{
	Verb:         verb.Stage,
	Help:         "download and verify an image without activating it",
	ChecksSpec:   true,
	Timeout:      time.Hour, // for the download; then it is tried again
	Failed:       v1alpha1.ReasonStageFailed,
	ChangesFacts: true,
	Policy:       PolicyManages,
	NeedsNoState: true,
	Args:         args(stageArgs),
}

func stageArgs(ctx context.Context, o Input) (verb.StageArgs, error) {
	image, err := o.image()
	if err != nil {
		return verb.StageArgs{}, err
	}
	keyring, err := o.Keyring(ctx)
	return verb.StageArgs{Version: o.Spec.Version, URL: image.URL, SHA256: image.SHA256(), Keyring: keyring}, err
}
