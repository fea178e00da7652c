package skew

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// row is one run of a verb.
type row struct {
	verb  string
	args  string
	fails bool // it exits with 1 in these clusters in any case
	// added reports whether the former version has no such verb.
	added bool
	// former is what the former plugin does with today's cluster where that is neither. It cannot be changed any more.
	former string

	shows  []string // what is in the output
	object string   // what is read after it
	want   string   // a part of that object in today's shape. Empty: it is gone
	after  string   // commands that prepare the next row
}

// rows are run one after the other on new clusters dev and staging, in which v1.34.4 and v1.34.5 are published.
// Upgrades of dev wait for an approval.
var rows = []row{
	{verb: "completion", args: "kubectl", shows: []string{"__complete"}},
	{verb: "version", shows: []string{"coordinator", "agent", "nodes: 2"}},
	{verb: "doctor", fails: true, shows: []string{"policy", "versions"}},
	{verb: "releases", shows: []string{"v1.34", "v1.34.5"}, former: "shows no patch, as it does not know `transportPolicy`"},
	{verb: "certificates", added: true, shows: []string{"CERTIFICATE", "RENEWED BY"}},
	{verb: "plan", args: "v1.34.4", shows: []string{"cp1", "w1", "v1.34.4"}},
	{
		verb: "freeze", args: "skew --for 1h --upgrades Minor --reason 'a freeze of the test'",
		object: "maintenanceschedule/skew", want: `{"spec":{"maintenanceExclusions":[{"comment":"a freeze of the test","upgradeTypes":["Minor"]}]}}`,
	},
	{verb: "windows", args: "--type Patch", shows: []string{"open now", "always"}, former: "a freeze of some types counts for all"},
	{verb: "unfreeze", args: "skew", object: "maintenanceschedule/skew"},
	{
		verb: "block", args: "v1.34.5 --reason 'a version of the test'", added: true,
		object: "upgradepolicy/cluster", want: `{"spec":{"blockedVersions":[{"version":"v1.34.5","comment":"a version of the test"}]}}`,
	},
	{verb: "unblock", args: "v1.34.5", added: true, object: "upgradepolicy/cluster", want: `{"spec":{"mode":"Manage"}}`},
	{
		verb:   "apply",
		args:   "v1.34.4 --yes --detach --reason 'an upgrade of the test' --ignore-windows --ignore-check 'one-node=one is enough' --max-unavailable 1",
		object: "clusterupgrade/v1.34.4",
		want: `{"spec":{"version":"v1.34.4","comment":"an upgrade of the test","windowPolicy":"Ignore",
			"ignoreChecks":[{"id":"one-node","comment":"one is enough","by":"admin"}],"strategy":{"maxUnavailable":1}}}`,
	},
	{verb: "suspend", args: "v1.34.4", object: "clusterupgrade/v1.34.4", want: `{"spec":{"suspend":true,"comment":"an upgrade of the test","windowPolicy":"Ignore"}}`},
	{verb: "resume", args: "v1.34.4", object: "clusterupgrade/v1.34.4", want: `{"spec":{"comment":"an upgrade of the test"}}`},
	{
		verb: "approve", args: "v1.34.4", object: "clusterupgrade/v1.34.4", want: `{"spec":{"approved":{"upgrade":true,"by":"admin"}}}`,
		after: "kubectl wait --for=jsonpath={.status.outcome}=Succeeded clusterupgrade/v1.34.4 --timeout 5m",
	},
	{verb: "status", shows: []string{"cp1", "w1", "v1.34.4", "always"}},
	{verb: "history", args: "v1.34.4", shows: done, former: lessOfPast},
	{verb: "report", args: "v1.34.4", shows: done, former: lessOfPast},
	{
		verb: "rollback", args: "--all --to v1.34.3 --reason 'a rollback of the test' --yes --detach",
		object: "clusterupgrade/rollback-v1.34.3", want: `{"spec":{"type":"Rollback","version":"v1.34.3","comment":"a rollback of the test"}}`,
		after: "kubectl delete clusterupgrade rollback-v1.34.3\n" + lost,
	},
	{
		verb: "reboot", args: "w1 --force --reason 'a reboot of the test' --dry-run=client -o yaml", shows: []string{"type: Reboot", "rebootPolicy: Always", "comment: a reboot of the test"},
		added: true,
	},
	{
		verb: "certificates renew", args: "cp1 --reason 'certificates of the test' --dry-run=client -o yaml", shows: []string{"type: Certificates", "comment: certificates of the test"},
		added: true,
	},
	{verb: "abandon", args: "lost --reason 'a node of the test' --yes", object: "nodeupgrade/lost", want: `{"abandoned":{"comment":"a node of the test","by":"admin"}}`},
	{
		verb: "follow", args: "--context staging --leader-context dev --soak 10s",
		object: "upgradepolicy/cluster --context staging", want: `{"spec":{"gates":[{"cluster":{"kubeconfigSecretRef":{"name":"dev"},"soakSeconds":10}}]}}`,
	},
	{verb: "fleet status", shows: []string{"dev", "staging", "v1.34.4"}},
	{verb: "fleet plan", args: "v1.34.5", shows: []string{"dev", "staging", "v1.34.5"}},
	{
		verb: "fleet freeze", args: "skew --contexts dev --for 1h --upgrades Minor --reason 'a freeze of the fleet'",
		object: "maintenanceschedule/skew", want: `{"spec":{"maintenanceExclusions":[{"comment":"a freeze of the fleet","upgradeTypes":["Minor"]}]}}`,
	},
	{verb: "fleet unfreeze", args: "skew --contexts dev", object: "maintenanceschedule/skew"},
	{
		verb: "fleet apply", args: "v1.34.5 --contexts dev --yes --detach --reason 'an upgrade of the fleet'",
		object: "clusterupgrade/v1.34.5", want: `{"spec":{"version":"v1.34.5","comment":"an upgrade of the fleet"}}`,
		after: "kubectl delete clusterupgrade v1.34.5\n" + others,
	},
	{verb: "fleet report", args: "--contexts dev -o json", shows: []string{"v1.34.3", "v1.34.4", "Succeeded"}},
	{
		verb: "migrate kured", args: "--apply --yes -l all",
		object: "upgradepolicy/cluster", want: `{"spec":{"mode":"Manage","strategy":{"approval":"Required","drain":{"timeoutSeconds":600}},"source":{"transportPolicy":"AllowHTTP","intervalSeconds":1}}}`,
	},
	{
		verb: "migrate kured", args: "--undo --yes",
		object: "upgradepolicy/cluster", want: `{"spec":{"mode":"Manage","strategy":{"approval":"Required"},"source":{"transportPolicy":"AllowHTTP","intervalSeconds":1}}}`,
	},
	{verb: "migrate fluo", shows: []string{"--grace-period", "300"}},
	{verb: "migrate timer", shows: []string{"Nothing was changed"}},
	{verb: "migrate objects", args: "-f - <<<'{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: ClusterUpgrade, metadata: {name: u}, spec: {reason: old}}'", added: true, shows: []string{"comment: old"}},
}

// done is what is shown of the upgrade that has ended.
var done = []string{"an upgrade of the test", "Succeeded", "cp1", "w1", "one is enough"}

const lessOfPast = "shows no comments, nodes and end"

// lost makes a node whose agent never reports.
const lost = `kubectl create -f - <<<'{apiVersion: v1, kind: Node, metadata: {name: lost}}'
until kubectl get nodeupgrade lost; do sleep 0.2; done`

// others makes programs to change over from.
const others = `kubectl create -f - <<EOF
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kured, namespace: kube-system}
spec:
  selector: {matchLabels: {name: kured}}
  template:
    metadata: {labels: {name: kured}}
    spec: {containers: [{name: kured, image: ghcr.io/kubereboot/kured:1.23.0, args: [--start-time=22:00, --end-time=6:00, --drain-timeout=10m]}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: fluo, namespace: kube-system}
spec:
  selector: {matchLabels: {name: fluo}}
  template:
    metadata: {labels: {name: fluo}}
    spec: {containers: [{name: fluo, image: "ghcr.io/flatcar/flatcar-linux-update-operator:v0.10.0", command: [/bin/update-agent, --grace-period=300]}]}
EOF`

// TestEachVerbHasARow checks that no verb of the plugin is left out.
func TestEachVerbHasARow(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		name := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "kubectl upgrade"))
		if !cmd.HasSubCommands() && name != "help" && !slices.ContainsFunc(rows, func(r row) bool { return r.verb == name }) {
			t.Errorf("no row has the verb %q", name)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "v0.0.0-test"))
}
