package extension

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/hooks"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/watch"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
)

const (
	// atOnce is how many requests are sent at a time.
	atOnce = 64
	// owners is how many KubeadmControlPlanes the management cluster has.
	owners = 60
	// mostMemory is what the program may hold, in MiB. Its limit in deployment.yaml is 512 MiB.
	mostMemory = 256
	// childFolder is set in the program that is attacked, to the folder with its certificate.
	childFolder = "CAPI_EXTENSION_TEST_FOLDER"
)

// TestHostileRequests has strangers send requests that are as large as they may be, and connections that send
// nothing more, and measures the memory of the program, which is another process than the test. Meanwhile and
// afterwards an honest client is answered.
func TestHostileRequests(t *testing.T) {
	if folder := os.Getenv(childFolder); folder != "" {
		serveStrangers(t, folder)
		return
	}
	folder := t.TempDir()
	issue(t, folder, 1)
	program := exec.Command(os.Args[0], "-test.run=^TestHostileRequests$")
	program.Env = append(os.Environ(), childFolder+"="+folder)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	program.Stderr = t.Output()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Process.Kill(); _ = program.Wait() }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := strangers{t, strings.TrimSpace(address), program.Process.Pid}
	s.measure("at the start")

	s.send("larger than any", 1, func(int) []byte { return canUpdate(0, repeat(`{},`, 16<<20), "{}") })
	for name, unit := range map[string]string{"empty objects": `{},`, "objects": `{"a":0},`, "lists": `[[]],`, "texts": `"` + strings.Repeat("a", 1000) + `",`, "nested": `{"a":[`} {
		s.send(name+" where they are not used", 24, func(int) []byte { return canUpdate(0, repeat(unit, 4<<20-2000), "{}") })
		s.send(name, 24, func(int) []byte { return canUpdate(0, "[]", repeat(unit, 4<<20-2000)) })
	}
	s.send("long names", 24, func(int) []byte {
		return canUpdate(0, "[]", `{"`+strings.Repeat("x", 1<<20)+`":{`+strings.Repeat(`"b":{"c":1,"d":2,"e":3},`, 1000)+`"z":1}}`)
	})
	s.send("kept questions", 2*owners, func(i int) []byte {
		return canUpdate(i%owners, "[]", repeat(`"`+strings.Repeat("a", 1000)+`",`, 4<<20-10_000))
	})
	const files = `"bootstrapConfig":{"kind":"KubeadmConfig","spec":{"files":[{"content":"%s %s"}]}}`
	filler := strings.Repeat("a", 2<<20-2000)
	covered := fmt.Appendf(nil, `{"current":{"machine":{"metadata":{"namespace":"default","name":"cp0"},"spec":{"version":"v1.34.3"}},`+files+`},`+
		`"desired":{"machine":{"spec":{"version":"v1.34.4"}},`+files+`}}`, "v1.34.3", filler, "v1.34.4", filler)
	s.send("long texts, while the workload cluster does not answer", 2*atOnce, func(int) []byte { return covered })
	held := s.hold(300, 16<<20-1)
	s.measure("while 300 connections send nothing more of 16 MiB")
	held()
	held = s.hold(300, 3<<20)
	s.measure("while 300 connections send nothing more of 4 MiB")
	s.honest("while 300 connections send nothing more of 4 MiB")
	held()
	s.honest("afterwards")
}

// serveStrangers is the program that is attacked: all of it but its clients for API servers.
func serveStrangers(t *testing.T, folder string) {
	objects := []client.Object{&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"}}}
	for i := range owners {
		name := fmt.Sprintf("cp%d", i)
		objects = append(objects,
			&controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: controlplanev1.KubeadmControlPlaneSpec{Version: "v1.34.4"}},
			&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name,
				OwnerReferences: []metav1.OwnerReference{{Kind: management.KindControlPlane, Name: name, Controller: ptr.To(true)}},
			}, Spec: clusterv1.MachineSpec{ClusterName: "prod", Version: "v1.34.3"}})
	}
	managed := fake.NewClientBuilder().WithScheme(management.Scheme()).WithRESTMapper(management.Mapper()).WithObjects(objects...).Build()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	again := &watch.Again{Management: managed, Now: time.Now, Log: log, Timeout: time.Second}
	server, err := hooks.NewServer(&hooks.Extension{
		Management: managed, OnUncovered: hooks.Stop, Remember: again.Remember, Now: time.Now, Log: log,
		Open: func(ctx context.Context, name types.NamespacedName) (workload.Cluster, error) {
			<-ctx.Done()
			return workload.Cluster{}, &workload.Problem{Cluster: name, Message: "the API server does not answer"}
		},
	}, 2*time.Second, func(string, runtimehooksv1.ResponseStatus, bool, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	config, err := tlsConfig(options{certFolder: folder}, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	fmt.Println(address)
	t.Fatal(serve(t.Context(), address, config, server, log))
}

// canUpdate is the question about a machine of an owner, whose desired objects have such conditions, and a field
// with such content.
func canUpdate(owner int, conditions, field string) []byte {
	const machine = `{"kind":"Machine","metadata":{"namespace":"default","name":"cp%d"},"spec":{"clusterName":"prod","version":"%s"},"status":{"conditions":%s}}`
	return fmt.Appendf(nil, `{"current":{"machine":`+machine+`},"desired":{"machine":`+machine+`,"infrastructureMachine":{"kind":"X","spec":{"x":%s}}}}`,
		owner, "v1.34.3", "[]", owner, "v1.34.4", conditions, field)
}

// repeat is a list of the size that has the unit again and again.
func repeat(unit string, size int) string {
	return "[" + strings.Repeat(unit, size/len(unit)) + strings.TrimSuffix(unit, ",") + "]"
}

type strangers struct {
	t       *testing.T
	address string
	program int
}

func (s strangers) client() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

const question = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/canupdatemachine/can-update-machine"

// send sends requests at once, and measures. Whether they are answered is the server's business.
func (s strangers) send(name string, requests int, body func(int) []byte) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range requests {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer, err := s.client().Post("https://"+s.address+question, "application/json", bytes.NewReader(body(i)))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		})
	}
	all.Wait()
	s.measure(name)
}

// hold opens connections that send a part of a body, and nothing more until the function is called.
func (s strangers) hold(connections, size int) (end func()) {
	var all sync.WaitGroup
	open := make(chan net.Conn, connections)
	for i := range connections {
		all.Go(func() {
			from := &net.Dialer{Timeout: 20 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%5))}}
			c, err := tls.DialWithDialer(from, "tcp", s.address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return
			}
			open <- c
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", question, size+1)
			part := make([]byte, 64<<10)
			for left := size; left > 0; left -= len(part) {
				if _, err := c.Write(part[:min(len(part), left)]); err != nil {
					return
				}
			}
		})
	}
	time.Sleep(3 * time.Second)
	return func() {
		for {
			select {
			case c := <-open:
				c.Close()
			default:
				all.Wait()
				return
			}
		}
	}
}

// honest asks as Cluster API does, and again as it does.
func (s strangers) honest(when string) {
	s.t.Helper()
	var last string
	for range 5 {
		answer, err := s.client().Post("https://"+s.address+question, "application/json", bytes.NewReader(canUpdate(0, "[]", "{}")))
		if err != nil {
			last = err.Error()
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if last = string(text); strings.Contains(last, "cannot be upgraded in place, because more changes than its version: X spec") {
			return
		}
	}
	s.t.Errorf("%s an honest client is not answered: %s", when, last)
}

// measure checks the most memory that the program has held so far.
func (s strangers) measure(when string) {
	s.t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.program), "status"))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			held, err := strconv.Atoi(fields[1])
			if err != nil {
				s.t.Fatal(err)
			}
			s.t.Logf("%s: %d MiB", when, held>>10)
			if held>>10 > mostMemory {
				s.t.Fatalf("%s: the program has held %d MiB, want at most %d", when, held>>10, mostMemory)
			}
			return
		}
	}
	s.t.Fatalf("%s: the program has ended", when)
}
