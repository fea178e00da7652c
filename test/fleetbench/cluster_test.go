//go:build fleet

package fleetbench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// settle is strategy.settleSeconds.
const settle = 5 * time.Second

// cluster is a real API server with a fleet.
type cluster struct {
	*testing.T
	server   *apiserver.Server
	kube     kubernetes.Interface
	ours     *kube.Kinds
	nodes    int
	programs map[string]*program
	audit    *auditLog
	address  string // of the fleet's program
}

// auditPolicy writes a line for each request that has ended, and for each watch that begins.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

func newCluster(t *testing.T, nodes int) *cluster {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, nodes: nodes, programs: map[string]*program{}, audit: &auditLog{path: log}}
	c.server = apitest.StartOwn(t, "--audit-policy-file="+policy, "--audit-log-path="+log, "--audit-log-maxsize=100000", "--profiling=true")
	for _, p := range c.server.Processes() {
		c.programs[p.Name] = c.watchProcess(p.PID())
	}
	c.kube = kubernetes.NewForConfigOrDie(c.server.Config)
	ours, err := kube.NewKinds(c.server.Config)
	c.must(err)
	c.ours = ours
	apitest.InstallCRDs(t, c.server.Config)
	manifests := filepath.Join(apitest.Root(t), "manifests")
	if out, err := apitest.Kubectl(t, c.server.Config, "apply", "--server-side", "-k", manifests).CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	c.createPolicy()
	c.startFleet()
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// createPolicy creates a policy whose source offers a patch that is not requested yet, and a
// window that is open.
func (c *cluster) createPolicy() {
	index := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		for i, v := range []string{"v1.34.3", "v1.34.4"} {
			fmt.Fprintf(answer, "%064x  kubernetes-%s-x86-64.raw\n", i+1, v)
		}
	}))
	c.Cleanup(index.Close)
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Mode, policy.Spec.Automatic = v1alpha1.ModeManage, []v1alpha1.AutomaticUpgrade{}
	policy.Spec.Source = v1alpha1.ImageSource{URL: index.URL + "/", TransportPolicy: v1alpha1.TransportAllowHTTP}
	policy.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromString("10%"))
	policy.Spec.Strategy.SettleSeconds, policy.Spec.Strategy.MinReadySeconds = ptr.To(int32(settle.Seconds())), ptr.To[int32](0)
	_, err := c.ours.UpgradePolicies.Create(c.Context(), policy, metav1.CreateOptions{})
	c.must(err)
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	s := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "always"}}
	s.Spec.TimeZone = "UTC"
	s.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "always", StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(start.Add(23 * time.Hour)), Recurrence: "FREQ=DAILY",
	}}}
	_, err = c.ours.MaintenanceSchedules.Create(c.Context(), s, metav1.CreateOptions{})
	c.must(err)
}

// startFleet starts the program of the nodes, and waits until their objects exist.
func (c *cluster) startFleet() {
	c.address = freeAddress(c.T)
	cmd := exec.Command(c.env("FLEET_PROGRAM"))
	cmd.Env = append(os.Environ(), "FLEET_SERVER="+c.server.Config.Host, "FLEET_TOKEN="+c.server.Config.BearerToken, "FLEET_CA="+c.server.Config.CAFile,
		fmt.Sprintf("FLEET_SIZE=%d", c.nodes), "FLEET_ADDRESS="+c.address)
	c.programs["agents"] = c.start("agents", cmd)
	c.await(time.Hour, "the fleet's objects exist", func() bool { return c.stats().Made })
}

func (c *cluster) env(name string) string {
	value := os.Getenv(name)
	if value == "" {
		c.Fatalf("%s is not set: run `make bench-fleet`", name)
	}
	return value
}

// stats are what the fleet's program says.
type stats struct {
	Made            bool
	Agents, Reboots int
	In, Out, Dials  int64
	Kubeadm, Node   time.Duration
	Probes          struct {
		Answered, Failed int
		Median, Slowest  time.Duration
		LastFailure      string
	}
}

func (c *cluster) stats() (s stats) {
	answer, err := http.Get("http://" + c.address + "/stats")
	if err != nil {
		return s
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		c.Error(err)
	}
	return s
}

func (c *cluster) startAgents() {
	answer, err := http.Post("http://"+c.address+"/start", "", nil)
	c.must(err)
	answer.Body.Close()
}

// startCoordinator starts a coordinator with its ServiceAccount's rights.
func (c *cluster) startCoordinator() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "coordinator-"}}
	pod.Spec = corev1.PodSpec{ServiceAccountName: "coordinator", Containers: []corev1.Container{{Name: "coordinator", Image: "none"}}}
	pod, err := c.kube.CoreV1().Pods(v1alpha1.Namespace).Create(c.Context(), pod, metav1.CreateOptions{})
	c.must(err)
	token, err := c.kube.CoreV1().ServiceAccounts(v1alpha1.Namespace).CreateToken(c.Context(), "coordinator",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To[int64](86400),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		}}, metav1.CreateOptions{})
	c.must(err)
	c.programs["coordinator"] = c.start("coordinator", exec.Command(c.env("COORDINATOR"),
		"--kubeconfig", c.kubeconfig(token.Status.Token), "--metrics-address", freeAddress(c.T)))
}

func (c *cluster) kubeconfig(token string) string {
	file := filepath.Join(c.TempDir(), "kubeconfig")
	c.must(clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"fleet": {Server: c.server.Config.Host, CertificateAuthority: c.server.Config.CAFile}},
		AuthInfos:      map[string]*api.AuthInfo{"account": {Token: token}},
		Contexts:       map[string]*api.Context{"fleet": {Cluster: "fleet", AuthInfo: "account"}},
		CurrentContext: "fleet",
	}, file))
	return file
}

// await waits until a condition holds.
func (c *cluster) await(limit time.Duration, what string, is func() bool) {
	c.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("waiting until %s: not so after %s", what, limit)
		}
	}
	c.Logf("%s  %s", time.Now().UTC().Format(time.TimeOnly), what)
}

// pods counts the pods.
func (c *cluster) pods() int {
	list, err := c.kube.CoreV1().Pods("").List(c.Context(), metav1.ListOptions{Limit: 1})
	c.must(err)
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0))
}

// machine names the machine and how busy it was, for the page.
func machine() string {
	averages, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%d cores, load averages %s", runtime.NumCPU(), strings.Join(strings.Fields(string(averages))[:3], ", "))
}
