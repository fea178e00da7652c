//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/soak"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// sample is what was measured after a round.
type sample struct {
	at        time.Duration
	processes []processSample
	cluster   map[string]float64 // by the name of the figure
}

// processSample is what one process of kubectl-upgrade used.
type processSample struct {
	name    string
	process soak.Process
	usage   soak.Usage
}

// calm is the pause between a round and its measurement.
const calm = 5 * time.Second

// measure measures, and prints what it found.
func (s *soakRun) measure(t *testing.T) {
	t.Helper()
	time.Sleep(calm)
	one := sample{at: time.Since(s.began), cluster: map[string]float64{}}
	var line strings.Builder
	for _, p := range s.processes(t) {
		one.processes = append(one.processes, p)
		fmt.Fprintf(&line, "\n%s (%d): %d KiB, %d goroutines, %d threads, %d files", p.name, p.process.PID, p.usage.Memory, p.usage.Goroutines, p.usage.Threads, p.usage.Files)
	}
	s.etcdSize(t, one.cluster)
	s.objects(t, one.cluster)
	s.disks(t, one.cluster)
	s.samples = append(s.samples, one)
	t.Logf("after %s:%s\n%v", one.at.Round(time.Second), line.String(), one.cluster)
}

// processes measures every agent and coordinator. The leader has more to do than the other
// coordinator, so it has a name of its own.
func (s *soakRun) processes(t *testing.T) []processSample {
	t.Helper()
	pods, err := s.kube.CoreV1().Pods(v1alpha1.Namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []processSample
	for _, pod := range pods.Items {
		name, program := pod.Spec.NodeName+"'s agent", "/agent"
		if pod.Labels["app.kubernetes.io/component"] == "coordinator" {
			name, program = "the coordinator that waits", "/coordinator"
			if s.leads(t, pod.Name) {
				name = "the coordinator that leads"
			}
		}
		found, err := soak.OfPod(string(pod.UID), program)
		if err != nil {
			t.Fatal(err)
		}
		for _, process := range found {
			usage, err := process.Measure()
			if err != nil {
				t.Logf("%s ended while it was measured: %v", name, err)
				continue
			}
			all = append(all, processSample{name, process, usage})
		}
	}
	return all
}

// leads reports whether a coordinator is the leader, by its log: the Lease names the node of
// the leader, on which both may run.
func (s *soakRun) leads(t *testing.T, pod string) bool {
	t.Helper()
	log, err := s.Kube(s.ctx, "-n", v1alpha1.Namespace, "logs", pod)
	if err != nil {
		t.Logf("the log of %s: %v", pod, err)
	}
	return strings.LastIndex(log, "this replica is the leader") > strings.LastIndex(log, "this replica is no longer the leader")
}

const (
	etcdTotal   = "etcd's file, MiB"
	etcdInUse   = "etcd's file in use, MiB"
	etcdData    = "etcd's data without events and former versions, MiB"
	ourEvents   = "our events (Kubernetes keeps each for an hour)"
	allEvents   = "all events"
	imageFiles  = "Kubernetes images on a node, at most"
	imageDisk   = "/opt/extensions on all nodes, MiB"
	ownDisk     = "/opt/kubectl-upgrade on all nodes, KiB"
	snapshots   = "etcd snapshots on cp1"
	snapshotsMB = "etcd snapshots on cp1, MiB"
	journal     = "journal of our units on all nodes, KiB"
)

// etcdSize reads the size of etcd's database from etcd's own metrics.
func (s *soakRun) etcdSize(t *testing.T, into map[string]float64) {
	t.Helper()
	metrics := s.must(t)(s.Exec(s.ctx, "cp1", "curl", "-s", "http://127.0.0.1:2381/metrics"))
	into[etcdTotal] = metric(metrics, "etcd_mvcc_db_total_size_in_bytes") / (1 << 20)
	into[etcdInUse] = metric(metrics, "etcd_mvcc_db_total_size_in_use_in_bytes") / (1 << 20)
}

// objects counts the objects of our kinds, and events.
func (s *soakRun) objects(t *testing.T, into map[string]float64) {
	t.Helper()
	names := s.must(t)(s.Kube(s.ctx, "get", "clusterupgrades,nodeupgrades,upgraderecords,nodeinventories,maintenanceschedules,upgradepolicies,coordinatorstates", "-o", "name"))
	for _, kind := range []string{"ClusterUpgrades", "NodeUpgrades", "UpgradeRecords", "NodeInventories"} {
		prefix := strings.ToLower(strings.TrimSuffix(strings.Replace(kind, "Inventories", "Inventorys", 1), "s")) + "."
		into[kind] = float64(strings.Count("\n"+names, "\n"+prefix))
	}
	leases, err := s.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	into["our Leases"] = float64(len(leases.Items))
	events, err := s.kube.CoreV1().Events(metav1.NamespaceAll).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	into[allEvents] = float64(len(events.Items))
	into[ourEvents] = 0
	for _, event := range events.Items {
		if source := event.Source.Component; source == "node-agent" || source == "kubectl-upgrade-coordinator" {
			into[ourEvents]++
		}
	}
}

// usedOnHost prints what our files use on a node, each with its name.
const usedOnHost = `
echo images $(ls /opt/extensions/kubernetes/kubectl-upgrade/*.raw | wc -l)
echo extensions $(du -sk /opt/extensions | cut -f1)
echo own $(du -sk /opt/kubectl-upgrade | cut -f1)
echo snapshots $(ls /var/lib/kubectl-upgrade/snapshots 2>/dev/null | wc -l)
echo snapshotdisk $(du -sk /var/lib/kubectl-upgrade 2>/dev/null | cut -f1)
echo journal $(journalctl -q -u 'kubectl-upgrade*' -o cat | wc -c)`

// disks reads what our files use on the nodes.
func (s *soakRun) disks(t *testing.T, into map[string]float64) {
	t.Helper()
	for _, node := range s.nodes {
		used := map[string]float64{}
		for line := range strings.Lines(s.must(t)(s.Exec(s.ctx, node, "sh", "-c", usedOnHost))) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			used[name], _ = strconv.ParseFloat(value, 64)
		}
		into[imageFiles] = max(into[imageFiles], used["images"])
		into[imageDisk] += used["extensions"] / 1024
		into[ownDisk] += used["own"]
		into[journal] += used["journal"] / 1024
		if node == "cp1" {
			into[snapshots], into[snapshotsMB] = used["snapshots"], used["snapshotdisk"]/1024
		}
	}
}

// metric returns the sum of a metric's values whose labels contain all of the words, in
// Prometheus' text format.
func metric(text, name string, words ...string) float64 {
	sum := 0.0
lines:
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, name)
		if !is || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		for _, word := range words {
			if !strings.Contains(rest, word) {
				continue lines
			}
		}
		fields := strings.Fields(rest)
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err == nil {
			sum += value
		}
	}
	return sum
}
