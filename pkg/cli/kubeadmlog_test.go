package cli_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

const (
	firstRun  = "kubeadm-log begin v1.35.4/node\nkubeadm-log | [upgrade] first\ntime=now level=INFO msg=step\nkubeadm-log end v1.35.4/node FAILED\n"
	secondRun = "time=now level=INFO msg=step\nkubeadm-log begin v1.35.4/node\nkubeadm-log | [upgrade] Reading configuration\nkubeadm-log |\ntime=now level=WARN msg=\"kubeadm-log | not one\"\nkubeadm-log |   indented\nkubeadm-log end v1.35.4/node OK\n"
)

// The log of an agent's pod comes from its node's kubelet, which is played here.
func TestStatusLogPrintsKubeadmsOutput(t *testing.T) {
	config := apitest.Start(t)
	w := newWorld(t, config)
	w.addNode("cp-1", true)
	for _, row := range []struct {
		name            string
		present, before string // the container's log, and that of the one before
		kept            string // in the NodeUpgrade
		noPod           bool
		code            int
		out, errOut     string
	}{
		{name: "the last of several", present: firstRun + secondRun, out: "[upgrade] Reading configuration\n\n  indented\n", errOut: "kubeadm on cp-1, v1.35.4/node: succeeded\n"},
		{name: "one that failed", present: firstRun, out: "[upgrade] first\n", errOut: "kubeadm on cp-1, v1.35.4/node: failed\n"},
		{name: "one that still runs", present: strings.TrimSuffix(firstRun, "kubeadm-log end v1.35.4/node FAILED\n"), out: "[upgrade] first\n", errOut: "kubeadm on cp-1, v1.35.4/node: its end is not logged, so it may still run\n"},
		{name: "of the container before", present: "time=now msg=started\n", before: secondRun, out: "[upgrade] Reading configuration\n\n  indented\n", errOut: "kubeadm on cp-1, v1.35.4/node: succeeded\n"},
		{name: "what the NodeUpgrade keeps", present: "time=now msg=started\n", kept: "[preflight] no\n", out: "[preflight] no\n",
			errOut: "the log of its agent has no run of kubeadm; what its NodeUpgrade keeps of the last failure:\n"},
		{name: "no pod", noPod: true, kept: "[preflight] no\n", out: "[preflight] no\n", errOut: "no agent's pod is on it; what its NodeUpgrade keeps of the last failure:\n"},
		{name: "nothing at all", present: "time=now msg=started\n", code: 1, errOut: "error: node cp-1: the log of its agent has no run of kubeadm, and its NodeUpgrade keeps nothing of a failure\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.t = t
			w.statuses["cp-1"].KubeadmLog = row.kept
			w.write("cp-1")
			w.kubelet("cp-1", row.present, row.before)
			w.removePods()
			if !row.noPod {
				w.agentPod("cp-1")
			}
			out, errOut, code := run(t, config, "", "status cp-1 --log")
			if out != row.out || errOut != row.errOut || code != row.code {
				t.Errorf("exit %d, wrote %q and %q; want %d, %q and %q", code, out, errOut, row.code, row.out, row.errOut)
			}
		})
	}
	for _, args := range []string{"status --log", "status cp-1 --log -w", "status cp-1 --log -o json"} {
		if _, errOut, code := run(t, config, "", args); code != 1 || !strings.HasPrefix(errOut, "error: --log ") {
			t.Errorf("%v: exit %d, %q", args, code, errOut)
		}
	}
}

// kubelet plays the part of a node's kubelet that reads logs.
func (w *world) kubelet(node, present, before string) {
	w.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/containerLogs/kubectl-upgrade/node-agent-"+node+"/node-agent" {
			http.NotFound(answer, r)
			return
		}
		switch text := map[bool]string{false: present, true: before}[r.URL.Query().Get("previous") == "true"]; text {
		case "":
			http.Error(answer, "previous terminated container not found", http.StatusBadRequest)
		default:
			fmt.Fprint(answer, text)
		}
	}))
	w.t.Cleanup(server.Close)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	w.must(err)
	port, err := strconv.Atoi(text)
	w.must(err)
	n, err := w.kube.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
	w.must(err)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	_, err = w.kube.CoreV1().Nodes().UpdateStatus(context.Background(), n, metav1.UpdateOptions{})
	w.must(err)
}

func (w *world) agentPod(node string) {
	w.t.Helper()
	ctx := context.Background()
	_, _ = w.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{}) // another test may have made it
	_, err := w.kube.CoreV1().Pods(v1alpha1.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "node-agent-" + node, Labels: map[string]string{"app.kubernetes.io/name": "kubectl-upgrade", "app.kubernetes.io/component": "node-agent"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "node-agent", Image: "node-agent"}}},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) removePods() {
	w.t.Helper()
	w.must(w.kube.CoreV1().Pods(v1alpha1.Namespace).DeleteCollection(context.Background(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}))
}
