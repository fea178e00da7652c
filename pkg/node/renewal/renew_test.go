package renewal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const (
	apiserverPath = "/etc/kubernetes/pki/apiserver.crt"
	schedulerPath = "/etc/kubernetes/scheduler.conf"
	adminPath     = "/etc/kubernetes/admin.conf"
)

// node is a control-plane node with three certificates: kube-apiserver loads its own by itself, kube-scheduler and a
// static pod of another maker, kube-vip, do not.
type node struct {
	t *testing.T
	l host.Layout
	*runtime
	// loads reports whether kube-apiserver loads its certificate by itself.
	loads bool
	// began is when the last renewal did.
	began time.Time
	// fails is the name of the certificate at which kubeadm fails, and silent one that it does not write though it says so.
	fails, silent string
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, l: host.Layout{Dir: t.TempDir()}, loads: true}
	for _, path := range []string{apiserverPath, "/etc/kubernetes/pki/apiserver.key", schedulerPath, adminPath} {
		n.write(path, "former "+path)
		old := time.Now().Add(-time.Hour).Truncate(time.Second)
		if err := os.Chtimes(n.l.At(path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	n.write("/proc/sys/kernel/random/boot_id", "boot")
	n.write(host.Root+"/bin/node-agent", "program")
	n.runtime = startRuntime(t, n.l.At("/run/containerd/containerd.sock"), "kube-apiserver", "kube-scheduler", "kube-vip")
	set(t, &look, func(context.Context, host.Layout) v1alpha1.NodeFacts { return n.facts() })
	set(t, &renew, n.kubeadm)
	for _, d := range []struct {
		is *time.Duration
		to time.Duration
	}{{&loadsWithin, 300 * time.Millisecond}, {&usedWithin, 2 * time.Second}, {&pause, 10 * time.Millisecond}, {&startsWithin, time.Second}, {&steadyFor, 50 * time.Millisecond}} {
		set(t, d.is, d.to)
	}
	return n
}

func set[T any](t *testing.T, is *T, to T) {
	was := *is
	*is = to
	t.Cleanup(func() { *is = was })
}

func (n *node) write(path, content string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.l.At(path)), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(n.l.At(path), []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// kubeadm writes the certificates anew.
func (n *node) kubeadm(_ context.Context, _ host.Layout, _ string, names []string, _ *host.Log) error {
	n.began = time.Now()
	for _, name := range names {
		path := map[string]string{"apiserver": apiserverPath, "scheduler.conf": schedulerPath, "admin.conf": adminPath}[name]
		if name == n.fails {
			n.write(path, "") // as where the disk is full
			return errors.New("no space left on device")
		}
		if name == n.silent {
			continue
		}
		n.write(path, "new "+path)
		if key, is := strings.CutSuffix(path, ".crt"); is {
			n.write(key+".key", "new "+key+".key")
		}
	}
	return nil
}

// facts are what a look at the certificates finds.
func (n *node) facts() v1alpha1.NodeFacts {
	var f v1alpha1.NodeFacts
	for path, user := range map[string]string{apiserverPath: "kube-apiserver", schedulerPath: "kube-scheduler", adminPath: "kube-vip"} {
		c := v1alpha1.CertificateFacts{Path: path, NotAfter: metav1.NewTime(n.began.Add(time.Hour)), RenewedBy: v1alpha1.RenewedByKubeadm, UsedBy: []string{user}}
		info, err := os.Stat(n.l.At(path))
		if err != nil {
			n.t.Error(err)
			continue
		}
		written := metav1.NewTime(info.ModTime())
		c.WrittenTime = &written
		started := n.startOf(user)
		switch {
		case user == "kube-vip": // whether it has its certificate cannot be asked
		case started.After(info.ModTime()), user == "kube-apiserver" && n.loads && time.Since(info.ModTime()) > 100*time.Millisecond:
			c.InUse = v1alpha1.UsesCurrent
		case user == "kube-apiserver" && time.Since(info.ModTime()) < 200*time.Millisecond: // it may still load it
		default:
			c.InUse = v1alpha1.UsesFormer
		}
		f.Certificates = append(f.Certificates, c)
	}
	slices.SortFunc(f.Certificates, func(a, b v1alpha1.CertificateFacts) int { return strings.Compare(a.Path, b.Path) })
	return f
}

// content returns what the certificates and keys say, one line each.
func (n *node) content() string {
	var lines []string
	for _, path := range []string{adminPath, apiserverPath, "/etc/kubernetes/pki/apiserver.key", schedulerPath} {
		text, err := os.ReadFile(n.l.At(path))
		if err != nil {
			n.t.Fatal(err)
		}
		info, err := os.Stat(n.l.At(path))
		if err != nil {
			n.t.Fatal(err)
		}
		age := "old"
		if time.Since(info.ModTime()) < 30*time.Minute {
			age = "fresh"
		}
		lines = append(lines, age+" "+string(text))
	}
	return strings.Join(lines, "\n")
}

const (
	allFormer = "old former /etc/kubernetes/admin.conf\nold former /etc/kubernetes/pki/apiserver.crt\nold former /etc/kubernetes/pki/apiserver.key\nold former /etc/kubernetes/scheduler.conf"
	allNew    = "fresh new /etc/kubernetes/admin.conf\nfresh new /etc/kubernetes/pki/apiserver.crt\nfresh new /etc/kubernetes/pki/apiserver.key\nfresh new /etc/kubernetes/scheduler.conf"
)

// startsGuard reports whether the guard starts at the next boot.
func (n *node) startsGuard() bool {
	_, err := os.Lstat(n.l.At("/etc/systemd/system/multi-user.target.wants", host.GuardUnit))
	return err == nil
}

func (n *node) run(ctx context.Context) (*v1alpha1.CertificatesRenewed, error) {
	return Renew(ctx, n.l, verb.RenewArgs{Upgrade: v1alpha1.UpgradeReference{Name: "c", UID: "u"}}, host.NewLog(io.Discard))
}

// TestRenew renews the certificates, restarts what does not load them, and leaves no copy.
func TestRenew(t *testing.T) {
	for name, c := range map[string]struct {
		loads     bool
		restarted []string
	}{
		"kube-apiserver loads its certificate": {true, []string{"kube-vip", "kube-scheduler"}},
		"it does not":                          {false, []string{"kube-vip", "kube-scheduler", "kube-apiserver"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.loads = c.loads
			set(t, &loadsWithin, 400*time.Millisecond)
			out, err := n.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.restarted, out.Restarted); diff != "" {
				t.Error("restarted", diff)
			}
			if diff := cmp.Diff([]string{"admin.conf", "apiserver", "scheduler.conf"}, out.Names); diff != "" {
				t.Error("renewed", diff)
			}
			if diff := cmp.Diff(allNew, n.content()); diff != "" {
				t.Error(diff)
			}
			facts, err := host.Gather(n.l)
			if err != nil || (facts.RenewalLeft || facts.CertificatesRenewed == nil || facts.CertificatesRenewed.Upgrade.UID != "u") {
				t.Errorf("the record is %v, a copy is left: %t", facts.CertificatesRenewed, facts.RenewalLeft)
			}
			if _, err := os.Stat(n.l.At(host.CertificatesCopy)); !errors.Is(err, os.ErrNotExist) || n.startsGuard() {
				t.Error("the copy is still there, or the guard starts at each boot", err)
			}
		})
	}
}

// TestRenewFails breaks each part of a renewal. The former files are back each time, also when they were written, and what was
// restarted with the new ones is restarted again.
func TestRenewFails(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*node)
		says   string
		again  string
	}{
		"kubeadm":        {func(n *node) { n.fails = "scheduler.conf" }, "no space left on device\nthe former certificates are back", ""},
		"not written":    {func(n *node) { n.silent = "scheduler.conf" }, "has not written /etc/kubernetes/scheduler.conf", ""},
		"does not start": {func(n *node) { n.broken = "kube-scheduler" }, "the kubelet has not started kube-scheduler again within 1s", "kube-vip"},
		"ends at once":   {func(n *node) { n.crashes = "kube-scheduler" }, "kube-scheduler has ended within 50ms of its start with the new certificate", "kube-vip kube-scheduler"},
		"never loaded":   {func(n *node) { n.deaf = "kube-scheduler" }, "kube-scheduler does not use /etc/kubernetes/scheduler.conf 2s after it was renewed", "kube-vip"},
		"no runtime":     {func(n *node) { n.server.Stop() }, "asking the container runtime", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			c.breaks(n)
			_, err := n.run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || host.ReasonOf(err, "") != v1alpha1.ReasonRenewalFailed {
				t.Fatalf("got %v, want %q", err, c.says)
			}
			if diff := cmp.Diff(allFormer, n.content()); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Stat(n.l.At(host.CertificatesCopy)); !errors.Is(err, os.ErrNotExist) || n.startsGuard() {
				t.Error("the copy is still there, or the guard starts at each boot", err)
			}
			for _, name := range strings.Fields(c.again) {
				if n.stopped(name) < 2 {
					t.Errorf("%s was not restarted with its former certificate: %d", name, n.stopped(name))
				}
			}
		})
	}
}

// TestRenewEndsAnywhere ends a renewal at each write of kubeadm, as a power cut does: nothing more of it runs. The files that
// PutBack leaves are the former ones, and the next renewal succeeds.
func TestRenewEndsAnywhere(t *testing.T) {
	for at := range 5 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			n := newNode(t)
			set(t, &renew, func(context.Context, host.Layout, string, []string, *host.Log) error {
				for i, path := range []string{adminPath, "/etc/kubernetes/pki/apiserver.key", apiserverPath, schedulerPath} {
					if i == at {
						n.write(path, "ne") // cut off
						panic("power cut")
					}
					n.write(path, "new "+path)
				}
				panic("power cut")
			})
			func() {
				defer func() { _ = recover() }()
				_, _ = n.run(t.Context())
				t.Error("the renewal has ended by itself")
			}()
			if facts, err := host.Gather(n.l); err != nil || !facts.RenewalLeft {
				t.Fatal("nothing tells that the renewal was cut off", err)
			}
			if !n.startsGuard() {
				t.Error("nothing puts the former files back at the boot, before an agent can")
			}
			if err := PutBack(n.l, host.NewLog(io.Discard)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(allFormer, n.content()); diff != "" || n.startsGuard() {
				t.Errorf("the guard starts at each boot: %t %s", n.startsGuard(), diff)
			}
			renew = n.kubeadm
			if _, err := n.run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCopyIsPrivate checks that only root can read the keys in the copy.
func TestCopyIsPrivate(t *testing.T) {
	n := newNode(t)
	if err := save(n.l, n.facts().Certificates); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{host.CertificatesCopy: 0o600, filepath.Dir(host.CertificatesCopy): 0o700 | os.ModeDir} {
		info, err := os.Stat(n.l.At(path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if strings.HasPrefix(host.CertificatesCopy, host.Root) {
		t.Error("the agent's pod can read the copy")
	}
}

// runtime is a container runtime with static pods that it starts again when they are stopped, as the kubelet does.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	server *grpc.Server
	mu     sync.Mutex
	pods   map[string]*pod
	// broken is a pod that is not started again, crashes one that ends again at once, and deaf one that is started again
	// with its former certificate.
	broken, crashes, deaf string
}

type pod struct {
	container, stops int
	started          time.Time
	down             bool
}

func startRuntime(t *testing.T, socket string, names ...string) *runtime {
	t.Helper()
	r := &runtime{pods: map[string]*pod{}, server: grpc.NewServer()}
	for _, name := range names {
		r.pods[name] = &pod{started: time.Now().Add(-2 * time.Hour)}
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket) //nolint:noctx // a socket of this test
	if err != nil {
		t.Fatal(err)
	}
	runtimeapi.RegisterRuntimeServiceServer(r.server, r)
	go func() { _ = r.server.Serve(listener) }()
	t.Cleanup(r.server.Stop)
	return r
}

func (r *runtime) startOf(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[name].started
}

func (r *runtime) stopped(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[name].stops
}

// ListPodSandbox also lists a pod of the API server whose name begins as that of a static pod.
func (r *runtime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	list := []*runtimeapi.PodSandbox{
		{Id: "other", Labels: map[string]string{podNameLabel: "kube-scheduler-cp1"}, Annotations: map[string]string{sourceAnnotation: "api"}},
		{Id: "other", Labels: map[string]string{podNameLabel: "kube-vip-2-cp1"}, Annotations: map[string]string{sourceAnnotation: fromFile}},
	}
	for name := range r.pods {
		list = append(list, &runtimeapi.PodSandbox{
			Id: name, Labels: map[string]string{podNameLabel: name + "-cp1"}, Annotations: map[string]string{sourceAnnotation: fromFile},
		})
	}
	return &runtimeapi.ListPodSandboxResponse{Items: list}, nil
}

func (r *runtime) ListContainers(_ context.Context, request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := request.GetFilter().GetPodSandboxId()
	p := r.pods[name]
	if p == nil || p.down {
		return &runtimeapi.ListContainersResponse{}, nil
	}
	if r.crashes == name && p.stops == 1 { // another one at each look
		p.container++
	}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: fmt.Sprintf("%s/%d", name, p.container)}}}, nil
}

func (r *runtime) StopContainer(_ context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, _, _ := strings.Cut(request.GetContainerId(), "/")
	p := r.pods[name]
	if p == nil {
		return nil, fmt.Errorf("there is no container %q", request.GetContainerId())
	}
	p.container, p.stops, p.down = p.container+1, p.stops+1, r.broken == name
	if r.deaf != name {
		p.started = time.Now().Add(time.Second) // files have times of whole seconds
	}
	return &runtimeapi.StopContainerResponse{}, nil
}
