package verb

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Table has every verb.
var Table = []Entry{facts, disarm, stage, pull, snapshot, kubeadmUpgrade, renew, putBack, activate, restart, confirm, etcdHealth, uninstall}

// Entry has the properties of a verb.
type Entry struct {
	Verb Verb
	// Help describes the verb in `node-agent host --help`.
	Help string
	// Timeout is the time after which systemd ends the verb.
	Timeout time.Duration
	// Failed is the reason for a failure that has no reason of its own.
	Failed v1alpha1.Reason
	// Args makes the verb's arguments. Nil means that there are none.
	Args func(o Input) (any, error)
	// Direct runs the verb without anything installed on the node: see Options.
	Direct bool
	// MountsImage mounts the staged image for the verb's
	// unit only.
	MountsImage bool
	// ChecksSpec makes the agent compare the NodeUpgrade's spec with what the upgrade
	// fixed at its trigger, before the verb starts.
	ChecksSpec bool
	// Policy is what the agent asks of the UpgradePolicy, live, before the verb starts.
	// Verbs of an attempt ask nothing: the rules have asked.
	Policy Policy
	// WholeNode runs the verb in the node's own mount namespace.
	WholeNode bool
	// ControlPlane limits the verb to control-plane nodes.
	ControlPlane bool
	// ChangesFacts reports whether the facts may differ after the verb. The agent reads its result then.
	ChangesFacts bool
	// NeedsNoState reports whether the verb may start although the machine's State
	// could not be written: all that the next agent needs is in its result.
	NeedsNoState bool
}

// Policy is what a verb asks of the UpgradePolicy.
type Policy int

// What a verb may ask.
const (
	PolicyNotAsked Policy = iota
	PolicyExists          // that there is one
	PolicyManages         // that its mode is Manage
)

// Lookup returns the verb's entry, and false if there is no such verb.
func Lookup(v Verb) (Entry, bool) {
	for _, e := range Table {
		if e.Verb == v {
			return e, true
		}
	}
	return Entry{}, false
}

// Failures maps each verb to the reason for a failure that has no reason of its own.
func Failures() map[Verb]v1alpha1.Reason {
	failures := map[Verb]v1alpha1.Reason{}
	for _, e := range Table {
		failures[e.Verb] = e.Failed
	}
	return failures
}

// Input is what requests are made from.
type Input struct {
	Spec v1alpha1.NodeUpgradeSpec
	// Method is how the node's attempt merges the image.
	Method v1alpha1.Method
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32
	// Active is the version that the node's symlink points to.
	Active string
	// Keyring has the keys that may sign the index of images. Empty means that no signature is
	// needed.
	Keyring string
	// ClusterConfiguration reads kubeadm's ClusterConfiguration from the cluster.
	ClusterConfiguration func() (string, error)
	// KubeProxyConfig reads kube-proxy's configuration from the cluster; empty: there is none, or it may not be read.
	KubeProxyConfig func() (string, error)
}

// image returns the image that the NodeUpgrade's spec names for the node.
func (o Input) image() (v1alpha1.Image, error) {
	if o.Spec.Image == nil {
		return v1alpha1.Image{}, fmt.Errorf("the NodeUpgrade names no image of %s for this node", o.Spec.Version)
	}
	return *o.Spec.Image, nil
}

// args adapts a function that makes the arguments of one verb.
func args[A any](make func(Input) (A, error)) func(Input) (any, error) {
	return func(o Input) (any, error) { return make(o) }
}

// Request returns the verb's request with a key.
func (e Entry) Request(key string, o Input) (Request, error) {
	var args any
	if e.Args != nil {
		var err error
		if args, err = e.Args(o); err != nil {
			return Request{}, err
		}
	}
	return NewRequest(e.Verb, key, args)
}

// Options returns the properties of the verb's unit.
func (e Entry) Options(o Input) Options {
	options := Options{RuntimeMax: e.Timeout, WholeNode: e.WholeNode, Direct: e.Direct}
	if e.MountsImage {
		options.MountImage = o.Spec.Version
	}
	return options
}
