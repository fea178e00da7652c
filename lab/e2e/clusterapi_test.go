//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// managed is a cluster that Cluster API made, with the management cluster and the extension.
type managed struct {
	*testCluster
	management dynamic.Interface
	kubeconfig string // of the management cluster
	// history has every version of the Machines and of what owns them since the case began.
	history *record.Recorder
	stop    context.CancelFunc // of history
	// stopExtension kills the extension. One that does not run is no error.
	stopExtension func()
	said          string // what Cluster API showed, for the page
}

// capiCase is a story on a cluster with which Cluster API has nothing to do. It leaves a cluster of which
// that is true again.
type capiCase struct {
	name string
	what string // for the page
	run  func(*managed, *testing.T)
	// replaces reports whether Cluster API replaces machines in the case, without asking.
	replaces bool
}

// TestClusterAPI has Cluster API upgrade in place the three control planes and two workers that it made.
// Whatever happens, no Machine is replaced, and the promises hold. FAULT_CASES selects cases
// (`make e2e-capi CASE=patch`). A case that has passed with the same sources is not run again, unless
// FAULT_FORCE is set: E2E_KEEP=1 and then E2E_REUSE=1 continue a run that was interrupted.
func TestClusterAPI(t *testing.T) {
	selected := regexp.MustCompile(env("FAULT_CASES", ""))
	passed := passedClusterAPI(t)
	var cases []capiCase
	for _, one := range capiCases {
		if selected.MatchString(one.name) && !passed[one.name] {
			cases = append(cases, one)
		}
	}
	if len(cases) == 0 {
		return
	}
	m := newManaged(t)
	for _, one := range cases {
		if !t.Run(one.name, func(t *testing.T) { m.play(t, one) }) {
			t.Fatalf("%s has failed, and the next case may find any state", one.name)
		}
	}
}

func newManaged(t *testing.T, flags ...string) *managed {
	t.Helper()
	c := newLab(t, 3, 2, append(flags, "--cluster-api")...)
	m := &managed{testCluster: c, kubeconfig: strings.TrimSpace(c.must(t)(c.Lab.Lab(c.ctx, "kubeconfig", "--management", "--path")))}
	if os.Getenv("E2E_REUSE") == "" {
		c.install(t)
		c.must(t)(c.Kube(c.ctx, "apply", "-k", filepath.Join(c.root, "manifests", "clusterapi", "workload")))
	}
	c.connect(t)
	c.patchPolicy(t, `{"versionsFrom":"ClusterAPI"}`)
	c.apply(t, scenario.OpenSchedule)
	c.startClient(t)
	config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	m.management = dynamic.NewForConfigOrDie(config)
	m.prepareManagement(t)
	m.startExtension(t)
	t.Cleanup(func() { m.stopExtension() })
	m.register(t)
	return m
}

// play runs a case, between two checks that the cluster is where a case may begin.
func (m *managed) play(t *testing.T, one capiCase) {
	m.said = ""
	m.startHistory(t)
	m.stopRecording()
	m.record()
	before := m.machineUIDs(t)
	m.awaitWanted(t, time.Minute)
	began := time.Now()
	defer func() { m.writeCase(t, one, time.Since(began)) }()
	one.run(m, t)
	m.awaitWanted(t, 2*time.Minute)
	if !one.replaces {
		m.checkNothingReplaced(t, before)
	}
	m.checkMarksGone(t)
	m.report(t)(record.Promises(m.recorder.Moments(), 1))
	m.report(t)(record.OutOfHours(m.recorder.Moments()))
}

// The kinds of the management cluster that the test reads and changes.
var (
	capiClusters      = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	capiMachines      = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
	capiDeployments   = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinedeployments"}
	capiControlPlanes = schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}
	capiTemplates     = schema.GroupVersionResource{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmconfigtemplates"}
	extensionConfigs  = schema.GroupVersionResource{Group: "runtime.cluster.x-k8s.io", Version: "v1beta2", Resource: "extensionconfigs"}
	coreEvents        = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

func (m *managed) startHistory(t *testing.T) {
	t.Helper()
	if m.stop != nil {
		m.stop()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.history, m.stop = record.New(m.management), cancel
	for _, resource := range []schema.GroupVersionResource{capiMachines, capiDeployments, capiControlPlanes, coreEvents} {
		go m.history.Follow(ctx, resource)
	}
}

// extensionAddress is where the extension listens, which runs on this machine as Cluster API does.
const extensionAddress = "127.0.0.1:9543"

// startExtension starts the extension with the management cluster's own certificate, which is for
// loopback. It answers Cluster API alone, which shows a certificate of the same authority.
func (m *managed) startExtension(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(m.extensionLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, stop := context.WithCancel(context.WithoutCancel(m.ctx))
	cmd := exec.CommandContext(ctx, filepath.Join(m.root, "bin", "capi-extension"),
		"--kubeconfig", m.extensionKubeconfig(), "--address", extensionAddress, "--metrics-address", "", "--verbose",
		"--cert-dir", m.pki(), "--client-ca", filepath.Join(m.pki(), "ca.crt"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The signal comes when the thread ends that started it: this one, with this test.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its log says why it has ended
		}
	}()
	if err := <-started; err != nil {
		stop()
		t.Fatalf("starting the extension: %v (`make e2e-capi` builds it)", err)
	}
	m.stopExtension = func() {
		stop()
		<-ended
	}
}

// pki is the folder with the certificates of the management cluster.
func (m *managed) pki() string { return filepath.Join(filepath.Dir(m.kubeconfig), "pki") }

func (m *managed) extensionLog() string {
	return filepath.Join(filepath.Dir(m.Kubeconfig), "capi-extension.log")
}

// extensionAccount is the ServiceAccount of the extension in the management cluster.
const extensionAccount = "kubectl-upgrade-capi:capi-extension"

// prepareManagement installs what docs/capi.md has for the management cluster, but for the pods: there
// are no nodes. The extension runs as its ServiceAccount.
func (m *managed) prepareManagement(t *testing.T) {
	t.Helper()
	folder := filepath.Join(m.root, "manifests", "clusterapi", "management")
	for _, file := range []string{"namespace.yaml", "rbac.yaml", "admission-surprises.yaml", "admission-extension.yaml"} {
		m.must(t)(m.manage("apply", "--server-side", "-f", filepath.Join(folder, file)))
	}
	m.must(t)(m.manage("label", "namespace", capi.Namespace, "kubectl-upgrade.dev/in-place=true", "--overwrite"))
	binding := m.must(t)(m.manage("create", "rolebinding", "kubectl-upgrade-capi-kubeconfigs", "--namespace", capi.Namespace,
		"--clusterrole", "kubectl-upgrade-capi-kubeconfigs", "--serviceaccount", extensionAccount, "--dry-run=client", "-o", "yaml"))
	file := filepath.Join(t.TempDir(), "binding.yaml")
	if err := os.WriteFile(file, []byte(binding), 0o644); err != nil {
		t.Fatal(err)
	}
	m.must(t)(m.manage("apply", "--server-side", "-f", file))
	config, err := clientcmd.LoadFromFile(m.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	namespace, _, _ := strings.Cut(extensionAccount, ":")
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + extensionAccount
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	if err := clientcmd.WriteToFile(*config, m.extensionKubeconfig()); err != nil {
		t.Fatal(err)
	}
}

// manage runs kubectl against the management cluster.
func (m *managed) manage(args ...string) (string, error) {
	l := m.Lab
	l.Kubeconfig = m.kubeconfig
	return l.Kube(m.ctx, args...)
}

func (m *managed) extensionKubeconfig() string {
	return filepath.Join(filepath.Dir(m.Kubeconfig), "capi-extension.kubeconfig")
}

// register has Cluster API ask the extension, and waits until it knows what the extension answers.
func (m *managed) register(t *testing.T) {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(m.pki(), "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	config := object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "kubectl-upgrade", map[string]any{
		"clientConfig":      map[string]any{"url": "https://" + extensionAddress, "caBundle": base64Of(authority)},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubectl-upgrade.dev/in-place": "true"}},
	})
	if _, err := m.management.Resource(extensionConfigs).Apply(m.ctx, config.GetName(), config, metav1.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
		t.Fatal(err)
	}
	m.eachSecond(t, time.Minute, "Cluster API knows the extension", func() error {
		known, err := m.management.Resource(extensionConfigs).Get(m.ctx, config.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return conditionIs(known, "Discovered", "True")
	})
	m.checkStrangers(t, authority)
}

// checkStrangers checks that a client without Cluster API's certificate gets no answer.
func (m *managed) checkStrangers(t *testing.T, authority []byte) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	stranger := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := stranger.Post("https://"+extensionAddress+"/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery", "application/json", strings.NewReader("{}"))
	if err == nil {
		answer.Body.Close()
		t.Errorf("the extension answers a stranger: %s", answer.Status)
	}
}
