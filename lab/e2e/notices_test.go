//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// kubeletFails lets the kubelet of w2 start with the former version only, and kubeletStarts ends that.
const (
	kubeletFails  = `mkdir -p /etc/systemd/system/kubelet.service.d && printf '[Service]\nExecStartPre=/bin/sh -c "! /usr/bin/kubelet --version | grep -qF ` + to + `"\n' >/etc/systemd/system/kubelet.service.d/99-fails.conf && systemctl daemon-reload`
	kubeletStarts = `rm /etc/systemd/system/kubelet.service.d/99-fails.conf && systemctl daemon-reload`
)

// TestNotices patches a control plane and two workers by an announced automatic upgrade, and tells a
// receiver of webhooks, which is away at first, while a real Alertmanager gets silences: of the node at
// work only, ended when the node is done or has failed, and ended by themselves without a coordinator.
func TestNotices(t *testing.T) {
	c := newCluster(t, 1, 2)
	chat := startChat(t)
	alerts := startAlertmanager(t)
	chat.away.Store(true)
	c.configureChat(t, chat.address)
	c.apply(t, onePod("stuck"))
	c.apply(t, scenario.OpenSchedule)
	c.patchPolicy(t, fmt.Sprintf(`{"automatic":[{"type":"Patch","noticeSeconds":180}],"strategy":{"guardSeconds":60,"settleSeconds":5},
		"notices":[{"name":"chat","urlSecretRef":{"name":"chat-url"},"template":"{{.Event}}|{{.ID}}|{{.Text}}"}],
		"silences":[{"name":"node-exporter","url":%q,"matchers":[{"name":"instance","value":"{node}:9100"}]}]}`, alerts.url))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))

	// The receiver is away: people see it, nothing is held, and the notice comes later.
	c.eventually(t, 5*time.Minute, "the notice cannot be sent", func() error { return c.policyHas(v1alpha1.ConditionNoticesFailed, "503") })
	c.checkStatus(t, "NotSent", "503")
	chat.away.Store(false)
	chat.await(c, t, "Announced", "cp1", "w2")
	if begun := chat.got("Began"); len(begun) > 0 {
		t.Errorf("it began before its announcement arrived: %v", begun)
	}
	if err := c.block(); err != nil {
		t.Fatal(err)
	}
	chat.await(c, t, "Began", "cp1")
	c.eventually(t, 15*time.Minute, "w1 drains", func() error { return c.at("w1", v1alpha1.StepDraining) })
	c.eventually(t, time.Minute, "only w1 is silenced", func() error { return alerts.suppressed("w1") })
	c.must(t)(c.Kube(c.ctx, "label", "node", "w2", v1alpha1.HoldLabel+"="))
	if err := c.unblock(); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, 10*time.Minute, "w1 is done", func() error { return c.done("w1") })
	c.eachSecond(t, 20*time.Second, "no node is silenced", func() error { return alerts.suppressed() })
	chat.await(c, t, "Waiting", "OnHold")

	// The coordinator dies while w2 drains: the silence ends by itself. Until there is another one, w2 has
	// taken too long to be silenced again.
	if err := c.block(); err != nil {
		t.Fatal(err)
	}
	c.must(t)(c.Exec(c.ctx, "w2", "sh", "-c", kubeletFails))
	c.must(t)(c.Kube(c.ctx, "label", "node", "w2", v1alpha1.HoldLabel+"-"))
	c.eventually(t, 10*time.Minute, "w2 drains", func() error { return c.at("w2", v1alpha1.StepDraining) })
	c.eventually(t, time.Minute, "only w2 is silenced", func() error { return alerts.suppressed("w2") })
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "0"))
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "delete", "pods", "-l", "app.kubernetes.io/component=coordinator", "--force", "--grace-period=0", "--ignore-not-found"))
	began := time.Now()
	c.eventually(t, 6*time.Minute, "no node is silenced without a coordinator", func() error { return alerts.suppressed() })
	t.Logf("the silence ended by itself %s after the coordinator was gone", time.Since(began).Round(time.Second))
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "2"))
	if err := c.unblock(); err != nil {
		t.Fatal(err)
	}

	// w2 is rolled back: everybody learns what to do, and its alerts fire again.
	chat.await(c, t, "NodeFailed", "w2")
	chat.await(c, t, "Stalled", "kubectl upgrade")
	c.eachSecond(t, 20*time.Second, "no node is silenced", func() error { return alerts.suppressed() })
	c.must(t)(c.Exec(c.ctx, "w2", "sh", "-c", kubeletStarts))
	c.must(t)(c.Upgrade(c.ctx, "apply", to, "--retry", "--yes", "--detach"))
	c.eventually(t, 15*time.Minute, "every node is done", c.everyNodeDone)
	chat.await(c, t, "Ended", "Succeeded")
	chat.checkOnce(t)
	c.checkNoSecret(t, chat.address)
}

// policyHas returns an error unless the condition of the UpgradePolicy is true and has the words.
func (c *testCluster) policyHas(condition, words string) error {
	policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, one := range policy.Status.Conditions {
		if one.Type == condition && one.Status == metav1.ConditionTrue && strings.Contains(one.Message, words) {
			return nil
		}
	}
	return fmt.Errorf("conditions: %+v", policy.Status.Conditions)
}

// configureChat runs the commands of docs/gates.md with the address in a file.
func (c *testCluster) configureChat(t *testing.T, address string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(c.root, "docs", "gates.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "FILE"), []byte("generic+http://"+address+"/TOPSECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(page)) {
		if command, is := strings.CutPrefix(line, "$ "); is && strings.Contains(command, "chat-url") {
			c.must(t)(c.shell(dir, command))
			ran++
		}
	}
	if ran != 3 {
		t.Fatalf("docs/gates.md has %d commands about chat-url, want 3", ran)
	}
}

// checkNoSecret checks that no log, object or event has the address of the chat.
func (c *testCluster) checkNoSecret(t *testing.T, address string) {
	t.Helper()
	for _, args := range [][]string{
		{"-n", v1alpha1.Namespace, "logs", "deployment/coordinator"}, {"get", "upgradepolicies,clusterupgrades,upgraderecords", "-o", "yaml"}, {"get", "events", "-A", "-o", "yaml"},
	} {
		if out := c.must(t)(c.Kube(c.ctx, args...)); strings.Contains(out, "TOPSECRET") || strings.Contains(out, address) {
			t.Errorf("kubectl %s has the address of the chat", strings.Join(args, " "))
		}
	}
}

// chat is a receiver of webhooks.
type chat struct {
	address string
	away    atomic.Bool
	mu      sync.Mutex
	all     []string
}

func startChat(t *testing.T) *chat {
	t.Helper()
	listener := listen(t, net.JoinHostPort(network.Host, "0"))
	c := &chat{address: listener.Addr().String()}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if c.away.Load() || err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, string(text))
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return c
}

// got returns the notices of an event.
func (c *chat) got(event string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.all), func(text string) bool { return !strings.HasPrefix(text, event+"|") })
}

// await waits for a notice of the event that has the words.
func (c *chat) await(cluster *testCluster, t *testing.T, event string, words ...string) {
	t.Helper()
	cluster.eachSecond(t, 15*time.Minute, "the chat gets "+event, func() error {
		for _, text := range c.got(event) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
				t.Log(text)
				return nil
			}
		}
		return fmt.Errorf("no %s with %q in %q", event, words, c.got(event))
	})
}

// checkOnce checks that no id came twice, except by another leader.
func (c *chat) checkOnce(t *testing.T) {
	t.Helper()
	times := map[string]int{}
	for _, text := range c.all {
		id := strings.Split(text, "|")[1]
		if times[id]++; times[id] > 1 {
			t.Logf("%d times: %s", times[id], text)
		}
		if times[id] > 2 {
			t.Errorf("more than twice: %s", text)
		}
	}
}

// alertmanager is a real Alertmanager on this machine, with an alert of each node's exporter.
type alertmanager struct{ url string }

func startAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(network.Host, "9093")
	program := exec.CommandContext(t.Context(), "prometheus-alertmanager", "--config.file="+config, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	return &alertmanager{url: "http://" + address}
}

// suppressed returns an error unless the alerts of these nodes are silenced, and no others. It fires
// them first: Alertmanager takes those that are not sent again for resolved.
func (a *alertmanager) suppressed(nodes ...string) error {
	var alerts []string
	for _, node := range []string{"cp1", "w1", "w2"} {
		alerts = append(alerts, fmt.Sprintf(`{"labels":{"alertname":"NodeDown","instance":"%s:9100"}}`, node))
	}
	answer, err := http.Post(a.url+"/api/v2/alerts", "application/json", strings.NewReader("["+strings.Join(alerts, ",")+"]"))
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer, err = http.Get(a.url + "/api/v2/alerts"); err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var list []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return err
	}
	if len(list) != 3 {
		return errors.New("Alertmanager has not got the alerts yet")
	}
	var got []string
	for _, one := range list {
		if one.Status.State == "suppressed" {
			got = append(got, strings.TrimSuffix(one.Labels["instance"], ":9100"))
		}
	}
	if slices.Sort(got); !slices.Equal(got, nodes) {
		return fmt.Errorf("suppressed are the alerts of %v, want %v", got, nodes)
	}
	return nil
}
