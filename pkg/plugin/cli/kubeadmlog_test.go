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
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

const (
	firstRun  = "kubeadm-log begin v1.35.4/node\nkubeadm-log | [upgrade] first\ntime=now level=INFO msg=step\nkubeadm-log end v1.35.4/node FAILED\n"
	secondRun = "time=now level=INFO msg=step\nkubeadm-log begin v1.35.4/node\nkubeadm-log | [upgrade] Reading configuration\nkubeadm-log |\ntime=now level=WARN msg=\"kubeadm-log | not one\"\nkubeadm-log |   indented\nkubeadm-log end v1.35.4/node OK\n"
)

// TestStatusLogPrintsKubeadmOutput checks which output of kubeadm `status --log` prints. The
// test serves the agents' logs as kubelets do.
func TestStatusLogPrintsKubeadmOutput(t *testing.T) {
	config := apitest.Start(t)
	c := newCluster(t, config)
	c.addNode("cp-1", true)
	for _, row := range []struct {
		name            string
		present, before string // the log of the container, and of the previous one
		kept            string // in the NodeUpgrade
		noPod           bool
		code            int
		out, errOut     string
	}{
		{name: "the last of several runs", present: firstRun + secondRun, out: "[upgrade] Reading configuration\n\n  indented\n", errOut: "kubeadm on cp-1, v1.35.4/node: succeeded\n"},
		{name: "a run that failed", present: firstRun, out: "[upgrade] first\n", errOut: "kubeadm on cp-1, v1.35.4/node: failed\n"},
		{name: "a run that has not ended", present: strings.TrimSuffix(firstRun, "kubeadm-log end v1.35.4/node FAILED\n"), out: "[upgrade] first\n", errOut: "kubeadm on cp-1, v1.35.4/node: its end is not logged, so it may still run\n"},
		{name: "that of the previous container", present: "time=now msg=started\n", before: secondRun, out: "[upgrade] Reading configuration\n\n  indented\n", errOut: "kubeadm on cp-1, v1.35.4/node: succeeded\n"},
		{name: "the end that the NodeUpgrade keeps", present: "time=now msg=started\n", kept: "[preflight] no\n", out: "[preflight] no\n",
			errOut: "the log of its agent has no run of kubeadm; this is what its NodeUpgrade has of the last failure:\n"},
		{name: "no pod", noPod: true, kept: "[preflight] no\n", out: "[preflight] no\n", errOut: "no agent's pod is on it; this is what its NodeUpgrade has of the last failure:\n"},
		{name: "no output", present: "time=now msg=started\n", code: 1, errOut: "error: node cp-1: the log of its agent has no run of kubeadm, and its NodeUpgrade has no output of a failed run\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c.t = t
			c.statuses["cp-1"].KubeadmLog = row.kept
			c.write("cp-1")
			c.kubelet("cp-1", row.present, row.before)
			c.removePods()
			if !row.noPod {
				c.agentPod("cp-1")
			}
			out, errOut, code := runCommand(t, config, "", "status cp-1 --log")
			if out != row.out || errOut != row.errOut || code != row.code {
				t.Errorf("got exit code %d, output %q and errors %q; want %d, %q and %q", code, out, errOut, row.code, row.out, row.errOut)
			}
		})
	}
	for _, args := range []string{"status --log", "status cp-1 --log -w", "status cp-1 --log -o json"} {
		if _, errOut, code := runCommand(t, config, "", args); code != 1 || !strings.HasPrefix(errOut, "error: --log ") {
			t.Errorf("%v: got exit code %d and %q, want 1 and an error about --log", args, code, errOut)
		}
	}
}

// kubelet serves the logs of a node's agent as its kubelet does.
func (c *cluster) kubelet(node, present, before string) {
	c.t.Helper()
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
	c.t.Cleanup(server.Close)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	c.must(err)
	port, err := strconv.Atoi(text)
	c.must(err)
	n, err := c.kube.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
	c.must(err)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	_, err = c.kube.CoreV1().Nodes().UpdateStatus(context.Background(), n, metav1.UpdateOptions{})
	c.must(err)
}

func (c *cluster) agentPod(node string) {
	c.t.Helper()
	ctx := context.Background()
	_, _ = c.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{}) // another test may have created it
	_, err := c.kube.CoreV1().Pods(v1alpha1.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "node-agent-" + node, Labels: map[string]string{"app.kubernetes.io/name": "kubectl-upgrade", "app.kubernetes.io/component": "node-agent"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "node-agent", Image: "node-agent"}}},
	}, metav1.CreateOptions{})
	c.must(err)
}

func (c *cluster) removePods() {
	c.t.Helper()
	c.must(c.kube.CoreV1().Pods(v1alpha1.Namespace).DeleteCollection(context.Background(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}))
}
