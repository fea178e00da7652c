package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadmlog"
)

// agentLabels are the labels of the agents' pods.
var agentLabels = labels.Set{"app.kubernetes.io/name": "kubectl-upgrade", "app.kubernetes.io/component": "node-agent"}

// kubeadmRun is one run of kubeadm in the log.
type kubeadmRun struct {
	key   string // of its request
	lines []string
	ended string // kubeadmlog.OK or Failed; empty: it still runs, or its end was not logged
}

// showKubeadmLog writes kubeadm's output of its last run on the node, from the log of
// the node's agent. If that has none, or cannot be read, it writes the end of the output
// that the NodeUpgrade keeps of a failure.
func (s *status) showKubeadmLog(ctx context.Context, reader *reader, known clusterstate.Snapshot) error {
	run, problem := reader.kubeadmRun(ctx, s.node)
	if run != nil {
		fmt.Fprintf(s.ErrOut, "kubeadm on %s, %s: %s\n", s.node, run.key, runState(run.ended))
		for _, line := range run.lines {
			fmt.Fprintln(s.Out, line)
		}
		return nil
	}
	if problem == nil {
		problem = fmt.Errorf("the log of its agent has no run of kubeadm")
	}
	for _, u := range known.NodeUpgrades {
		if u.Name == s.node && u.Status.KubeadmLog != "" {
			fmt.Fprintf(s.ErrOut, "%s; this is what its NodeUpgrade has of the last failure:\n", oneLine(problem.Error()))
			_, err := io.WriteString(s.Out, strings.TrimRight(u.Status.KubeadmLog, "\n")+"\n")
			return err
		}
	}
	return fmt.Errorf("node %s: %w, and its NodeUpgrade has no output of a failed run", s.node, problem)
}

func runState(ended string) string {
	switch ended {
	case kubeadmlog.OK:
		return "succeeded"
	case "":
		return "its end is not logged, so it may still run"
	}
	return "failed"
}

// kubeadmRun returns the last run in the logs of the node's agent. Nil without an error:
// there is none.
func (r *reader) kubeadmRun(ctx context.Context, node string) (*kubeadmRun, error) {
	pods, err := r.kube.CoreV1().Pods(v1alpha1.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: agentLabels.String(), FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, explain("looking for its agent's pod", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	var problem error
	for _, pod := range pods.Items {
		if len(pod.Spec.Containers) == 0 {
			continue // no API server has such a pod
		}
		for _, previous := range []bool{false, true} {
			run, err := r.runIn(ctx, pod, previous)
			if run != nil {
				return run, nil
			}
			if err != nil && !previous { // most containers have no previous one
				problem = explain("reading the log of "+pod.Name, err)
			}
		}
	}
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("no agent's pod is on it")
	}
	return nil, problem
}

// runIn returns the last run in the log of one container.
func (r *reader) runIn(ctx context.Context, pod corev1.Pod, previous bool) (*kubeadmRun, error) {
	options := &corev1.PodLogOptions{Previous: previous, Container: pod.Spec.Containers[0].Name}
	stream, err := r.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return lastRun(stream)
}

// longestLine is more than the length to which an agent cuts kubeadm's lines.
const longestLine = 64 << 10

// lastRun returns the last run in an agent's log. It stops at a line that is too long.
func lastRun(log io.Reader) (*kubeadmRun, error) {
	var run *kubeadmRun
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		text := lines.Text()
		switch {
		case strings.HasPrefix(text, kubeadmlog.Begin):
			run = &kubeadmRun{key: strings.TrimPrefix(text, kubeadmlog.Begin)}
		case run == nil:
		case strings.HasPrefix(text, kubeadmlog.Line):
			run.lines = append(run.lines, strings.TrimPrefix(strings.TrimPrefix(text, kubeadmlog.Line), " "))
		case strings.HasPrefix(text, kubeadmlog.End):
			run.ended = text[strings.LastIndexByte(text, ' ')+1:]
		}
	}
	return run, lines.Err()
}
