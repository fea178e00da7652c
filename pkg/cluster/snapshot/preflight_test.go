package snapshot_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/hook"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// world is a real API server, with a control plane that exists as objects only.
type world struct {
	*testing.T
	config *rest.Config
	kube   kubernetes.Interface
}

func newWorld(t *testing.T) *world {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	return &world{T: t, config: config, kube: kubernetes.NewForConfigOrDie(config)}
}

func (w *world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) clients(config *rest.Config) snapshot.Clients {
	w.Helper()
	ours, err := kube.NewKinds(config)
	w.must(nil, err)
	return snapshot.Clients{Kube: kubernetes.NewForConfigOrDie(config), Ours: ours, Access: config}
}

// TestGivenPolicyCounts checks that the checks of a policy that was just created know what the coordinator remembers: its
// own status is not written yet.
func TestGivenPolicyCounts(t *testing.T) {
	w := newWorld(t)
	c := w.clients(w.config)
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Source.URL = "https://images.example/"
	w.must(c.Ours.UpgradePolicies.Create(t.Context(), policy, metav1.CreateOptions{}))
	upgrade := v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	facts, err := snapshot.ReadPreflight(t.Context(), c, upgrade, nil)
	w.must(facts, err)
	if facts.Blocked != nil || facts.Policy.Source.URL == "" {
		t.Errorf("from the cluster: %+v, %+v", facts.Blocked, facts.Policy)
	}
	c.Policy = policy.DeepCopy()
	c.Policy.Status.TakenBack = []v1alpha1.TakenBackVersion{{Version: "v1.34.4", Upgrade: v1alpha1.UpgradeReference{Name: "back", UID: "u"}}}
	if facts, err = snapshot.ReadPreflight(t.Context(), c, upgrade, nil); err != nil || facts.Blocked == nil {
		t.Errorf("as the coordinator has it: %+v, %v", facts.Blocked, err)
	}
}

// addServer makes the pod of an apiserver that says it listens there.
func (w *world) addServer(node, endpoint string) {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kube-apiserver-" + node, Labels: map[string]string{"component": "kube-apiserver"},
			Annotations: map[string]string{"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": endpoint},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/kube-apiserver:v1.34.3"}}},
	}
	w.must(w.kube.CoreV1().Pods("kube-system").Create(w.Context(), pod, metav1.CreateOptions{}))
	w.Cleanup(func() {
		now := int64(0)
		w.must(nil, w.kube.CoreV1().Pods("kube-system").Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	})
}

func (w *world) own() string { return strings.TrimPrefix(w.config.Host, "https://") }

func upgrade() v1alpha1.ClusterUpgrade {
	return v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.35.4"}}
}

// Lists come in pages, and each apiserver is asked at its own address which
// deprecated APIs were called: here Endpoints, by this test.
func TestReadPreflight(t *testing.T) {
	w := newWorld(t)
	w.addServer("cp1", w.own())
	w.must(w.kube.CoreV1().Endpoints("default").List(t.Context(), metav1.ListOptions{})) //nolint:staticcheck // that it is deprecated is the point
	const many = 510
	for i := range many {
		one := intstr.FromInt32(1)
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i)}}
		b.Spec = policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{}}
		w.must(w.kube.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), b, metav1.CreateOptions{}))
	}
	t.Cleanup(func() {
		w.must(nil, w.kube.PolicyV1().PodDisruptionBudgets("default").DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kubelet-config"}, Data: map[string]string{"kubelet": "failCgroupV1: false\nfeatureGates: {A: true}\n"}}
	w.must(w.kube.CoreV1().ConfigMaps("kube-system").Create(t.Context(), config, metav1.CreateOptions{}))
	t.Cleanup(func() {
		w.must(nil, w.kube.CoreV1().ConfigMaps("kube-system").Delete(context.Background(), config.Name, metav1.DeleteOptions{}))
	})
	ours := w.clients(w.config).Ours
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.HistoryLimit = 7
	w.must(ours.UpgradePolicies.Apply(t.Context(), policy, "test", ""))
	inventory := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: "facts"}}
	inventory.GatheredTime = metav1.NewTime(time.Now().Truncate(time.Second))
	w.must(ours.NodeInventories.Create(t.Context(), inventory, metav1.CreateOptions{}))
	var more atomic.Int32
	counted := rest.CopyConfig(w.config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("continue") != "" {
				more.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	facts, err := snapshot.ReadPreflight(t.Context(), w.clients(counted), upgrade(), []string{"amd64"})
	w.must(nil, err)
	if len(facts.Workloads.Budgets) != many || more.Load() != 1 {
		t.Errorf("%d budgets, want %d; %d further pages, want 1", len(facts.Workloads.Budgets), many, more.Load())
	}
	if len(facts.Unread) > 0 {
		t.Errorf("unread: %q", facts.Unread)
	}
	kubelets := &preflight.KubeletConfig{KubeletConfig: clusterstate.KubeletConfig{Fields: []string{"failCgroupV1", "featureGates", "featureGates.A"}, FailCgroupV1: new(bool)}}
	if diff := cmp.Diff(kubelets, facts.KubeletConfig); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := preflight.RequestedAPI{APIServer: "cp1", Version: "v1", Resource: "endpoints"}
	if !slices.Contains(facts.RequestedAPIs, want) {
		t.Errorf("%+v is not among %+v", want, facts.RequestedAPIs)
	}
	if facts.Policy.HistoryLimit != 7 || !slices.ContainsFunc(facts.Inventories, func(i v1alpha1.NodeInventory) bool { return i.Name == "facts" }) {
		t.Errorf("policy or inventory is missing: %+v, %+v", facts.Policy, facts.Inventories)
	}
	if len(facts.SystemPods) != 1 || len(facts.Workloads.Pods) != 1 || facts.Upgrade.Name != "u" || facts.Now.IsZero() || len(facts.Offered) != 1 {
		t.Errorf("something is missing: %+v", facts)
	}
}

// What a Reader watches for each node is not listed for the checks, and is the same.
func TestReadPreflightTakesWhatIsWatched(t *testing.T) {
	w := newWorld(t)
	ours := w.clients(w.config).Ours
	for _, name := range []string{"w1", "w2"} {
		w.must(w.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
		w.must(ours.NodeUpgrades.Create(t.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
		inventory := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: name}}
		inventory.GatheredTime = metav1.NewTime(time.Now())
		w.must(ours.NodeInventories.Create(t.Context(), inventory, metav1.CreateOptions{}))
		t.Cleanup(func() {
			ctx := context.Background()
			w.must(nil, w.kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
			w.must(nil, ours.NodeUpgrades.Delete(ctx, name, metav1.DeleteOptions{}))
			w.must(nil, ours.NodeInventories.Delete(ctx, name, metav1.DeleteOptions{}))
		})
	}
	listed, err := snapshot.ReadPreflight(t.Context(), w.clients(w.config), upgrade(), nil)
	w.must(nil, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reader, err := snapshot.NewReader(w.kube, ours, func() {})
	w.must(nil, err)
	if !reader.Start(ctx) {
		t.Fatal("the reader does not come to know the cluster")
	}
	watchful := rest.CopyConfig(w.config)
	watchful.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if kind := path.Base(r.URL.Path); slices.Contains([]string{"nodes", "nodeupgrades", "nodeinventories"}, kind) {
				t.Errorf("%s are listed, and they are watched", kind)
			}
			return next.RoundTrip(r)
		})
	})
	clients := w.clients(watchful)
	clients.Lists = reader.Lists(reader.Snapshot())
	watched, err := snapshot.ReadPreflight(ctx, clients, upgrade(), nil)
	w.must(nil, err)
	if len(watched.Nodes) < 2 {
		t.Errorf("%d Nodes, want two or more", len(watched.Nodes))
	}
	watched.Now = listed.Now
	if diff := cmp.Diff(listed, watched, cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
		t.Errorf("-listed +watched:\n%s", diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An apiserver that does not answer at its own address is named; the stable
// address tells of one of them.
func TestSilentAPIServers(t *testing.T) {
	w := newWorld(t)
	w.must(w.kube.CoreV1().Endpoints("default").List(t.Context(), metav1.ListOptions{})) //nolint:staticcheck // that it is deprecated is the point
	called := func(facts preflight.Facts, server string) bool {
		return slices.Contains(facts.RequestedAPIs, preflight.RequestedAPI{APIServer: server, Version: "v1", Resource: "endpoints"})
	}
	read := func() preflight.Facts {
		t.Helper()
		facts, err := snapshot.ReadPreflight(t.Context(), w.clients(w.config), upgrade(), nil)
		w.must(nil, err)
		return facts
	}
	if facts := read(); len(facts.Unread) != 1 || !strings.HasPrefix(facts.Unread[0], "No kube-apiserver pod was found") {
		t.Errorf("without a pod: %q", facts.Unread)
	}
	const silent = "127.0.0.1:1"
	w.addServer("cp1", silent)
	if facts := read(); len(facts.Unread) > 0 || !called(facts, "cp1") {
		t.Errorf("the only one is that at the stable address: %q, %+v", facts.Unread, facts.RequestedAPIs)
	}
	w.addServer("cp2", silent)
	facts := read()
	if len(facts.Unread) != 1 || !strings.HasPrefix(facts.Unread[0], "The metrics of the kube-apiserver on cp1, cp2 could not be read (dial tcp 127.0.0.1:1") || !called(facts, "") {
		t.Errorf("two that are silent: %q, %+v", facts.Unread, facts.RequestedAPIs)
	}
	w.addServer("cp3", w.own())
	facts = read()
	if len(facts.Unread) != 1 || !called(facts, "cp3") || called(facts, "") {
		t.Errorf("one of three answers: %q, %+v", facts.Unread, facts.RequestedAPIs)
	}
}

// What is forbidden is named, and keeps nothing else from being read.
func TestReadPreflightWithFewRights(t *testing.T) {
	w := newWorld(t)
	w.addServer("cp1", w.own())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"nodeupgrades", "nodeinventories"}, Verbs: []string{"list"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"upgradepolicies"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "few"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "few"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "few"}},
	}
	w.must(w.kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))
	w.must(w.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))
	as := func(user string) snapshot.Clients {
		config := rest.CopyConfig(w.config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		return w.clients(config)
	}
	var facts preflight.Facts
	deadline := time.Now().Add(20 * time.Second)
	for { // until the authorizer knows
		var err error
		if facts, err = snapshot.ReadPreflight(t.Context(), as("few"), upgrade(), nil); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	want := []string{
		"DaemonSets could not be read (that is forbidden): whether another program may reboot nodes, or kube-proxy was removed, is not known.",
		"Deployments could not be read (that is forbidden): which of them have one replica, and whether CoreDNS was removed, is not known.",
		"MutatingWebhookConfigurations could not be read (that is forbidden): which of them would lose their last backend is not known.",
		"PodDisruptionBudgets could not be read (that is forbidden): which of them would stop a drain is not known.",
		"The metrics of the kube-apiserver on cp1 could not be read (it answers 403 forbidden): which deprecated APIs were called there is not known.",
		"ValidatingWebhookConfigurations could not be read (that is forbidden): which of them would lose their last backend is not known.",
	}
	if diff := cmp.Diff(want, facts.Unread); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if facts.KubeletConfig == nil || facts.KubeletConfig.Problem != "that is forbidden" {
		t.Errorf("the cluster's configuration of kubelets: %+v", facts.KubeletConfig)
	}
	if config := facts.KubeadmConfig; config == nil || config.Problem != "that is forbidden" || config.Missing || facts.KubeletConfig.Missing {
		t.Errorf("how kubeadm made the cluster: %+v", config)
	}
	if facts.KubeProxyRemoved || facts.CoreDNSRemoved {
		t.Error("kube-proxy or CoreDNS counts as removed, and could not be looked for")
	}
	if len(facts.Workloads.Pods) != 1 {
		t.Errorf("%d pods were read, want 1", len(facts.Workloads.Pods))
	}
	if _, err := snapshot.ReadPreflight(t.Context(), as("powerless"), upgrade(), nil); err == nil || !strings.HasPrefix(err.Error(), "reading Nodes: ") {
		t.Errorf("without any right: %v", err)
	}
}

// The Reader knows where webhooks' backends are as ReadPreflight does, and is not
// woken by those of other Services.
func TestReaderKnowsWebhooks(t *testing.T) {
	w := newWorld(t)
	ignore := admissionregistrationv1.Ignore
	none := admissionregistrationv1.SideEffectClassNone
	webhook := func(name string, policy *admissionregistrationv1.FailurePolicyType) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: name + ".example.com", FailurePolicy: policy, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: name}},
		}
	}
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	c.Webhooks = []admissionregistrationv1.ValidatingWebhook{webhook("strict", nil), webhook("lenient", &ignore)}
	w.must(w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), c, metav1.CreateOptions{}))
	t.Cleanup(func() {
		w.must(nil, w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), c.Name, metav1.DeleteOptions{}))
	})
	backs := func(service string, nodes ...string) {
		t.Helper()
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{GenerateName: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}}, AddressType: discoveryv1.AddressTypeIPv4}
		for i, node := range nodes {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}, NodeName: &node})
		}
		made, err := w.kube.DiscoveryV1().EndpointSlices("default").Create(t.Context(), s, metav1.CreateOptions{})
		w.must(made, err)
		t.Cleanup(func() {
			w.must(nil, w.kube.DiscoveryV1().EndpointSlices("default").Delete(context.Background(), made.Name, metav1.DeleteOptions{}))
		})
	}
	backs("strict", "w1", "w2")
	var woken atomic.Int32
	clients := w.clients(w.config)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reader, err := snapshot.NewReader(clients.Kube, clients.Ours, func() { woken.Add(1) })
	w.must(nil, err)
	if !reader.Start(ctx) {
		t.Fatal("the reader does not come to know the cluster")
	}
	same := func() bool {
		facts, err := snapshot.ReadPreflight(ctx, clients, upgrade(), nil)
		w.must(nil, err)
		l := facts.Workloads
		return cmp.Equal(preflight.Webhooks(l.Validating, l.Mutating, l.EndpointSlices), reader.Snapshot().Webhooks)
	}
	if got := reader.Snapshot().Webhooks; len(got) != 1 || !slices.Equal(got[0].Nodes, []string{"w1", "w2"}) || !same() {
		t.Errorf("the Reader knows %+v", got)
	}
	time.Sleep(300 * time.Millisecond)
	before := woken.Load()
	backs("lenient", "w1")
	backs("shop", "w1")
	time.Sleep(300 * time.Millisecond)
	if after := woken.Load(); after != before {
		t.Errorf("backends that no request waits for woke it %d times", after-before)
	}
	backs("strict", "w3")
	for deadline := time.Now().Add(10 * time.Second); woken.Load() == before || !same(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a new backend was not noticed: %+v", reader.Snapshot().Webhooks)
		}
	}
}

// TestHookRights checks that what keeps a hook from being started is found, with what to do.
func TestHookRights(t *testing.T) {
	w := newWorld(t)
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Hooks = []v1alpha1.Hook{
		{Name: "leave", When: v1alpha1.BeforeNode, CronJobName: "lb"}, {Name: "join", When: v1alpha1.AfterNode, CronJobName: "lb"},
		{Name: "absent", When: v1alpha1.BeforeUpgrade, CronJobName: "absent"}, {Name: "runs", When: v1alpha1.AfterUpgrade, CronJobName: "runs"},
	}
	w.must(w.clients(w.config).Ours.UpgradePolicies.Apply(t.Context(), policy, "test", ""))
	w.must(w.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.HooksNamespace}}, metav1.CreateOptions{}))
	for name, suspend := range map[string]bool{"lb": true, "runs": false} {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
		cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", Suspend: &suspend, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}}
		w.must(w.kube.BatchV1().CronJobs(v1alpha1.HooksNamespace).Create(t.Context(), cron, metav1.CreateOptions{}))
	}
	read := func() []preflight.Lack {
		t.Helper()
		facts, err := snapshot.ReadPreflight(t.Context(), w.clients(w.config), upgrade(), nil)
		w.must(nil, err)
		return facts.HookRights
	}
	lacks := func(hookName, cronJob string) preflight.Lack {
		return preflight.Lack{Message: fmt.Sprintf("Hook %s needs CronJob kubectl-upgrade-hooks/%s, which the coordinator may not start.", hookName, cronJob), Advice: "Its owner lets it: " + hook.Grant(cronJob)}
	}
	if diff := cmp.Diff([]preflight.Lack{lacks("leave", "lb"), lacks("absent", "absent"), lacks("runs", "runs")}, read()); diff != "" {
		t.Errorf("without rights, -want +got:\n%s", diff)
	}
	for _, name := range []string{"lb", "absent", "runs"} {
		for command := range strings.SplitSeq(hook.Grant(name), " && ") {
			if out, err := apitest.Kubectl(t, w.config, strings.Fields(command)[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
	}
	want := []preflight.Lack{
		{Message: "Hook absent needs CronJob kubectl-upgrade-hooks/absent, which does not exist.", Advice: "Create it with spec.suspend: true, or delete the Role that lets the coordinator start it."},
		{Message: "CronJob kubectl-upgrade-hooks/runs of hook runs also runs by its schedule, and is not started.", Advice: "Set its spec.suspend to true."},
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the API server watches the roles
		if diff := cmp.Diff(want, read()); diff == "" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("with rights, -want +got:\n%s", diff)
		}
	}
}

// TestGateRights checks that what the coordinator may not read for gates is found, with a command that
// grants it. The API server authorizes by RBAC.
func TestGateRights(t *testing.T) {
	w := newWorld(t)
	ours := w.clients(w.config).Ours
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	query := func(name string, secret string) v1alpha1.Gate {
		g := v1alpha1.Gate{Name: name, Prometheus: &v1alpha1.PrometheusGate{URL: "https://prometheus.example", Query: "up", Expect: v1alpha1.ExpectNotEmpty}}
		if secret != "" {
			g.Prometheus.TokenSecretRef = &v1alpha1.SecretKeyReference{Name: secret}
		}
		return g
	}
	object := func(name string, g v1alpha1.ObjectGate) v1alpha1.Gate {
		g.Condition = "true"
		return v1alpha1.Gate{Name: name, Object: &g}
	}
	policy.Spec.Gates = []v1alpha1.Gate{
		object("one", v1alpha1.ObjectGate{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: "db"}),
		object("all", v1alpha1.ObjectGate{APIVersion: "v1", Kind: "ConfigMap", Selector: &v1alpha1.LabelSelector{}}),
		object("none", v1alpha1.ObjectGate{APIVersion: "shop.example/v1", Kind: "Till", Name: "x"}),
		query("secret", "token"), query("open", ""),
	}
	w.must(ours.UpgradePolicies.Apply(t.Context(), policy, "test", ""))
	read := func(config *rest.Config) preflight.Facts {
		t.Helper()
		facts, err := snapshot.ReadPreflight(t.Context(), w.clients(config), upgrade(), nil)
		w.must(nil, err)
		return facts
	}
	want := []preflight.Lack{
		{Message: "Gate one needs StatefulSet of apps/v1, which the coordinator may not read.", Advice: `echo '{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "gates-statefulsets.apps", "labels": {"kubectl-upgrade.dev/aggregate-to-gates": "true"}}, "rules": [{"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["get", "list"]}]}' | kubectl apply -f -`},
		{Message: "Gate all needs ConfigMap of v1, which the coordinator may not read.", Advice: `echo '{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "gates-configmaps", "labels": {"kubectl-upgrade.dev/aggregate-to-gates": "true"}}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]}' | kubectl apply -f -`},
		{Message: "Gate secret needs Secret kubectl-upgrade/token, which the coordinator may not read.", Advice: "With Helm, add it to the value secrets; otherwise: kubectl -n kubectl-upgrade create role coordinator-secret-token --verb=get --resource=secrets --resource-name=token && kubectl -n kubectl-upgrade create rolebinding coordinator-secret-token --role=coordinator-secret-token --serviceaccount=kubectl-upgrade:coordinator"},
	}
	if diff := cmp.Diff(want, read(w.config).GateRights); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// The plugin has read the policy before.
	clients := w.clients(w.config)
	clients.Ours, clients.Policy = nil, policy
	facts, err := snapshot.ReadPreflight(t.Context(), clients, upgrade(), nil)
	w.must(nil, err)
	if diff := cmp.Diff(want, facts.GateRights); diff != "" {
		t.Errorf("with a policy that was read before, -want +got:\n%s", diff)
	}

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gates"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}, // a selector needs list
	}}
	w.must(w.kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))
	w.must(w.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "gates"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gates"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "coordinator", Namespace: v1alpha1.Namespace}},
	}, metav1.CreateOptions{}))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the API server watches the roles
		diff := cmp.Diff(want[1:], read(w.config).GateRights)
		if diff == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with a role, -want +got:\n%s", diff)
		}
	}
}
