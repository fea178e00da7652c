package nodes

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
)

// guard asks the API server of the node as its guard does in a boot, until the agent confirms the activation.
func (n *node) guard(ctx context.Context) {
	args, boot, guarded := n.host.Guarded()
	if !guarded {
		return
	}
	connections := &connections{Cluster: n.Cluster}
	defer connections.close()
	config, err := connections.kubelet(n.name)
	if err != nil {
		n.Log(n.name, err.Error())
		return
	}
	config.UserAgent = guard.UserAgent
	client, err := kube.NewForConfig(config)
	if err != nil {
		n.Log(n.name, err.Error())
		return
	}
	activation := guard.Activation{To: args.Version, Limit: args.GuardWithin, ByReboot: true}
	began, asked := time.Now(), time.Time{}
	for ; ctx.Err() == nil; sleep(ctx, time.Second) {
		if _, now, guarded := n.host.Guarded(); !guarded || now != boot {
			return
		}
		o := guard.Observation{Elapsed: time.Since(began), KubeletStarted: 1, Rebooted: true, Active: args.Version, Merged: args.Version}
		if guard.NeedsAnswer(activation, o) && time.Since(asked) >= guard.AskEvery {
			asked = time.Now()
			_, _ = client.Nodes().Get(ctx, n.name, metav1.GetOptions{})
		}
	}
}
