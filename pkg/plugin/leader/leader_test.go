package leader_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// pair is two clusters: prod, and staging which it is to follow.
type pair struct {
	*testing.T
	prod, staging *rest.Config
	kubeconfig    string
}

func newPair(t *testing.T) *pair {
	p := &pair{T: t, prod: apitest.Start(t), staging: apitest.StartOwn(t).Config}
	file := api.Config{Clusters: map[string]*api.Cluster{}, AuthInfos: map[string]*api.AuthInfo{}, Contexts: map[string]*api.Context{}, CurrentContext: "prod"}
	for name, config := range map[string]*rest.Config{"prod": p.prod, "Admin@staging": p.staging} {
		apitest.InstallCRDs(t, config)
		manifests := filepath.Join(apitest.Root(t), "manifests")
		kubectl(t, config, "", "apply", "-f", filepath.Join(manifests, "namespace.yaml"))
		kubectl(t, config, "", "apply", "-k", filepath.Join(manifests, "people"))
		kubectl(t, config, "", "apply", "-f", filepath.Join(manifests, "coordinator", "rbac.yaml"))
		file.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
		file.AuthInfos[name] = &api.AuthInfo{Token: config.BearerToken}
		file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
		setPolicy(t, config, "{mode: Manage}")
	}
	p.kubeconfig = filepath.Join(t.TempDir(), "config")
	must(t, clientcmd.WriteToFile(file, p.kubeconfig))
	return p
}

func kubectl(t *testing.T, config *rest.Config, input string, args ...string) {
	t.Helper()
	command := apitest.Kubectl(t, config, args...)
	command.Stdin = strings.NewReader(input)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func setPolicy(t *testing.T, config *rest.Config, spec string) {
	t.Helper()
	kubectl(t, config, "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: UpgradePolicy\nmetadata: {name: cluster}\nspec: "+spec+"\n", "apply", "--server-side", "-f", "-")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command, and checks its exit code and what it says.
func (p *pair) run(code int, command string, wants ...string) string {
	p.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	if got := cli.Run(p.Context(), append(strings.Fields(command), "--kubeconfig="+p.kubeconfig), streams, "test"); got != code {
		p.Fatalf("%s: exit code %d, want %d\n%s%s", command, got, code, &out, &errOut)
	}
	for _, want := range wants {
		if !strings.Contains(out.String()+errOut.String(), want) {
			p.Errorf("%s does not say %q:\n%s%s", command, want, &out, &errOut)
		}
	}
	return out.String()
}

func (p *pair) gates() []v1alpha1.Gate {
	p.Helper()
	policy, err := kube.NewKinds(p.prod)
	must(p.T, err)
	found, err := policy.UpgradePolicies.Get(p.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	must(p.T, err)
	return found.Spec.Gates
}

// ask asks the gates as the coordinator of prod does, with its rights.
func (p *pair) ask() []gate.Answer {
	p.Helper()
	as := rest.CopyConfig(p.prod)
	as.Impersonate.UserName = "system:serviceaccount:kubectl-upgrade:coordinator"
	clients, err := gate.NewClients(as, kubernetes.NewForConfigOrDie(as).CoreV1())
	must(p.T, err)
	var answers []gate.Answer
	for _, g := range p.gates() {
		g.TimeoutSeconds = 30
		answers = append(answers, clients.Ask(p.Context(), g))
	}
	return answers
}

// lead lets the coordinator of staging lead.
func (p *pair) lead(ran string) {
	now := metav1.NowMicro()
	leases := kubernetes.NewForConfigOrDie(p.staging).CoordinationV1().Leases(v1alpha1.Namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "coordinator"}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	_, err := leases.Create(context.Background(), lease, metav1.CreateOptions{})
	must(p.T, err)
	kubectl(p.T, p.staging, "", "patch", "upgradepolicy", "cluster", "--subresource=status", "--type=merge", "-p", `{"status":{"ran":[`+ran+`]}}`)
}

// TestFollow lets one real API server follow another one, asks the gate with the rights of the
// coordinator, renews the token, and ends it again.
func TestFollow(t *testing.T) {
	p := newPair(t)
	p.run(0, "follow --leader-context Admin@staging --soak 72h --dry-run", "prod would follow Admin@staging by the gate admin-staging (dry run)")
	git := p.run(0, "follow --leader-context Admin@staging --soak 72h --dry-run -o yaml", "# In the leader, Admin@staging:", "# In prod. Add the gate", "soakSeconds: 259200", "kubeconfigSecretRef:\n        name: admin-staging")
	if strings.Contains(git, "kind: Secret") || strings.Contains(git, p.staging.BearerToken) || len(p.gates()) > 0 {
		t.Fatalf("a dry run wrote, or printed a Secret:\n%s", git)
	}
	p.run(0, "follow --leader-context Admin@staging --soak 72h --dry-run -o json", `"kind": "List"`)
	p.run(0, "follow --leader-context Admin@staging --soak 72h --dry-run=server", "gate admin-staging added")
	if len(p.gates()) > 0 {
		t.Fatal("a dry run wrote")
	}

	p.run(0, "follow --leader-context Admin@staging --soak 72h", "serviceaccount/follower-", "secret/admin-staging applied", "gate admin-staging added",
		"prod takes a version once Admin@staging has run it for 72h0m0s. The token is valid until", "No upgrade of Admin@staging has ended yet: its next upgrade is the first that counts", "is this machine: pods of prod reach the leader by another address")
	if answers := p.ask(); len(answers) != 1 || answers[0].State != v1alpha1.GateUnknown {
		t.Errorf("no coordinator leads in staging, and the gate answers %+v", answers)
	}
	p.lead(`{"version":"v1.34.4","upgrade":{"name":"v1.34.4","uid":"u"},"sinceTime":"2026-11-18T12:00:00Z"}`)
	if answers := p.ask(); len(answers) != 1 || answers[0].State != v1alpha1.GateOpen || len(answers[0].Ran) != 1 || strings.Contains(answers[0].Message, "expire") {
		t.Errorf("the gate answers %+v", answers)
	}

	// Again: the token is new and short, and the rest stays.
	secrets := kubernetes.NewForConfigOrDie(p.prod).CoreV1().Secrets(v1alpha1.Namespace)
	before, err := secrets.Get(t.Context(), "admin-staging", metav1.GetOptions{})
	must(t, err)
	p.run(0, "follow --leader-context Admin@staging --soak 72h --token-for 1d", "gate admin-staging unchanged", "Admin@staging has run v1.34.4 since 2026-11-18 12:00 UTC")
	after, err := secrets.Get(t.Context(), "admin-staging", metav1.GetOptions{})
	must(t, err)
	if string(before.Data["kubeconfig"]) == string(after.Data["kubeconfig"]) {
		t.Error("the token is not new")
	}
	day := time.Now().Add(24 * time.Hour).UTC().Format(time.DateOnly)
	if answers := p.ask(); answers[0].State != v1alpha1.GateOpen || !strings.Contains(answers[0].Message, "credentials expire on "+day) {
		t.Errorf("the token ends tomorrow, and the gate answers %+v", answers)
	}
	p.run(0, "follow --leader-context Admin@staging --soak 1d --any-digests", "gate admin-staging changed")
	if g := p.gates()[0]; g.Cluster.SoakSeconds != 86400 || g.Cluster.SameDigests == nil || *g.Cluster.SameDigests {
		t.Errorf("the gate is %+v", g.Cluster)
	}

	p.refuse()

	p.run(0, "follow --leader-context Admin@staging --undo", "gate admin-staging removed", "secret/admin-staging deleted", "serviceaccount/follower-")
	if gates := p.gates(); len(gates) != 1 || gates[0].Name != "quiet" {
		t.Errorf("the gates are %+v, want only quiet", gates)
	}
	left, err := kubernetes.NewForConfigOrDie(p.staging).CoreV1().ServiceAccounts(v1alpha1.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "kubectl-upgrade.dev/follower"})
	must(t, err)
	if len(left.Items) > 0 {
		t.Errorf("%d ServiceAccounts are left", len(left.Items))
	}
	p.run(0, "follow --leader-context Admin@staging --undo", "gate admin-staging is not there")

	kubectl(t, p.prod, "", "patch", "upgradepolicy", "cluster", "--type=json", "-p", `[{"op":"remove","path":"/spec/gates"}]`)
	kubectl(t, p.staging, "", "apply", "-f", apitest.Root(t)+"/manifests/people/follow.yaml") // it was refused without
	p.run(0, "follow --leader-context Admin@staging --soak 1d", "gate admin-staging added")
	p.run(0, "follow --leader-context Admin@staging --undo", "gate admin-staging removed")
	text, err := apitest.Kubectl(t, p.prod, "get", "upgradepolicy", "cluster", "-o", "jsonpath={.spec}").Output()
	must(t, err)
	if strings.Contains(string(text), `"gates"`) {
		t.Errorf("a list of gates is left: %s", text)
	}
}

// refuse runs what is refused while prod follows staging.
func (p *pair) refuse() {
	p.run(1, "follow --soak 1h", "--leader-context is required")
	p.run(1, "follow --leader-context Admin@staging", "--soak is required")
	p.run(1, "follow --leader-context Admin@staging --soak 3x", "--soak=3x")
	p.run(1, "follow --leader-context Admin@staging --soak 500d", "must be a year at most")
	p.run(1, "follow --leader-context Admin@staging --soak 1h --token-for 1m", "--token-for=1m: must be at least 10m0s")
	p.run(1, "follow --leader-context Admin@staging --soak 1h -o yaml", "give --dry-run=client")
	p.run(1, "follow --leader-context Admin@staging --soak 1h --name a.b", "--name=a.b: must be")
	p.run(1, "follow --leader-context prod --soak 1h", "the same cluster")
	p.run(1, "follow --leader-context nowhere --soak 1h", `there is no context "nowhere"; the kubeconfig has Admin@staging, prod`)
	p.run(1, "follow --context Admin@staging --leader-context prod --soak 1h", "prod follows Admin@staging already", "--undo --context prod --leader-context Admin@staging")
	p.run(1, "follow --leader-context Admin@staging --soak 1h --leader-server http://10.0.0.1", "must be https://HOST:PORT")
	kubectl(p.T, p.prod, "", "-n", "kubectl-upgrade", "create", "secret", "generic", "theirs", "--from-literal=a=b")
	p.run(1, "follow --leader-context Admin@staging --soak 1h --name theirs", "which this command did not make")
	p.run(1, "follow --leader-context Admin@staging --undo --name theirs", "which this command did not make")
	setPolicy(p.T, p.prod, "{mode: Manage, gates: [{name: quiet, prometheus: {url: 'http://p:9090', query: up, expect: Empty}}]}")
	p.run(1, "follow --leader-context Admin@staging --soak 1h --name quiet", "the gate quiet of UpgradePolicy cluster asks something else")
	kubectl(p.T, p.staging, "", "delete", "clusterrole", "kubectl-upgrade-follow")
	p.run(1, "follow --leader-context Admin@staging --soak 1h", "install this version of kubectl-upgrade there first")
	server := p.staging.Host
	text, err := os.ReadFile(p.kubeconfig)
	must(p.T, err)
	must(p.T, os.WriteFile(p.kubeconfig+"-gone", []byte(strings.ReplaceAll(string(text), server, "https://127.0.0.1:1")), 0o600))
	p.run(1, "follow --leader-context Admin@staging --leader-kubeconfig "+p.kubeconfig+"-gone --soak 1h", "error: context Admin@staging: the API server does not answer")
}
