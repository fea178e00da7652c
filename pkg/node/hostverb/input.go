package hostverb

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Input is what requests are made from.
type Input struct {
	Spec v1alpha1.NodeUpgradeSpec
	// Method is how the node's attempt merges the image.
	Method v1alpha1.Method
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32
	// Active is the version that the node's symlink points to.
	Active string
	// Keyring reads the keys that may sign the index of images. Empty means that
	// no signature is needed.
	Keyring func(context.Context) (string, error)
	// ClusterConfiguration reads kubeadm's ClusterConfiguration from the cluster.
	ClusterConfiguration func(context.Context) (string, error)
}

// image returns the image that the NodeUpgrade's spec names for the node.
func (o Input) image() (v1alpha1.Image, error) {
	if o.Spec.Image == nil {
		return v1alpha1.Image{}, fmt.Errorf("the NodeUpgrade names no image of %s for this node", o.Spec.Version)
	}
	return *o.Spec.Image, nil
}

// args adapts a function that makes the arguments of one verb.
func args[A any](make func(context.Context, Input) (A, error)) func(context.Context, Input) (any, error) {
	return func(ctx context.Context, o Input) (any, error) { return make(ctx, o) }
}

// Request returns the verb's request with a key.
func (e Entry) Request(ctx context.Context, key string, o Input) (host.Request, error) {
	var args any
	if e.Args != nil {
		var err error
		if args, err = e.Args(ctx, o); err != nil {
			return host.Request{}, err
		}
	}
	return host.NewRequest(e.Verb, key, args)
}

// Options returns the properties of the verb's unit.
func (e Entry) Options(o Input) host.Options {
	options := host.Options{RuntimeMax: e.Timeout, WholeNode: e.WholeNode, Direct: e.Direct}
	if e.MountsImage {
		staged := host.ImagePath(o.Spec.Version, host.Architecture())
		options.MountImages = []host.MountImage{{Source: staged, Destination: host.ImageMount}}
	}
	return options
}
