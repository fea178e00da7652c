package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// noteName notes what people call the cluster, by its UpgradePolicy, or else by the kubeconfig's context and the server.
// Screens and questions begin with it. The fleet's commands name each of their clusters themselves.
func (p *program) noteName(policy *v1alpha1.UpgradePolicy) {
	if p.access != nil {
		return
	}
	if policy != nil && policy.Spec.ClusterName != "" {
		p.clusterName = policy.Spec.ClusterName
		return
	}
	access, err := p.cluster.ToRESTConfig()
	if err != nil {
		return // what needs the cluster says so
	}
	p.clusterName = access.Host
	config, err := p.cluster.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return
	}
	if name := cmp.Or(*p.cluster.Context, config.CurrentContext); name != "" {
		p.clusterName = name + " (" + access.Host + ")"
	}
}

// ofCluster names the cluster in a question about something of it.
func (p *program) ofCluster() string {
	if p.clusterName == "" {
		return ""
	}
	return " of " + p.clusterName
}

// inCluster names the cluster in an answer that says what was done there.
func (p *program) inCluster() string {
	if p.clusterName == "" {
		return ""
	}
	return " in " + p.clusterName
}

// answer prints what was done, and in which cluster: people who run several may have meant another one.
func (p *program) answer(what string, d dryRun) {
	fmt.Fprintf(p.told, "%s%s%s\n", what, d, p.inCluster())
}

// readName notes what people call the cluster, for inCluster. Without a reader, and where the UpgradePolicy may not be
// read, that is the context and the server.
func (p *program) readName(ctx context.Context, reader *reader) {
	var policy *v1alpha1.UpgradePolicy
	if reader != nil {
		policy, _ = reader.policy(ctx)
	}
	p.noteName(policy)
}
