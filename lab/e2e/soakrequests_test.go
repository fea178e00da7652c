//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// requests are those that kubectl-upgrade's service accounts have made since the API server
// was started: the agents' have a FlowSchema of their own, whose name begins as that of the
// others.
type requests struct {
	at      time.Time
	number  float64
	started float64
}

// counted reads the requests from the API server's metrics: they are counted for each
// FlowSchema. Those as the kubelet, which cordon and evict, are not among them.
func (s *soakRun) counted(t *testing.T) requests {
	t.Helper()
	var text string
	s.eachSecond(t, 2*time.Minute, "the API server's metrics can be read", func() (err error) {
		text, err = s.Kube(s.ctx, "get", "--raw", "/metrics")
		return err
	})
	return requests{
		at:      time.Now(),
		number:  metric(text, "apiserver_flowcontrol_dispatched_requests_total", `flow_schema="kubectl-upgrade`),
		started: metric(text, "process_start_time_seconds"),
	}
}

// perMinute returns the rate since then, or zero if the API server was restarted.
func (r requests) perMinute(then requests) float64 {
	if r.started != then.started {
		return 0
	}
	return (r.number - then.number) / r.at.Sub(then.at).Minutes()
}

// live is what etcd stores apart from former versions of objects.
type live struct {
	at  time.Duration
	mib float64
}

var revision = regexp.MustCompile(`"revision":(\d+)`)

// compact removes all events and all former versions from etcd, and measures what is in use
// then. Kubernetes removes an event after an hour only, and a round causes about a hundred.
func (s *soakRun) compact(t *testing.T) {
	t.Helper()
	s.must(t)(s.Kube(s.ctx, "delete", "events", "--all", "--all-namespaces", "--wait=false"))
	status := s.must(t)(s.etcdctl("endpoint", "status", "-w", "json"))
	match := revision.FindStringSubmatch(status)
	if match == nil {
		t.Fatalf("etcd's status has no revision: %s", status)
	}
	if _, err := s.etcdctl("compact", "--physical", match[1]); err != nil && !strings.Contains(err.Error(), "has been compacted") {
		t.Fatal(err)
	}
	after := map[string]float64{}
	s.etcdSize(t, after)
	s.compacts = append(s.compacts, live{time.Since(s.began), after[etcdInUse]})
	t.Logf("etcd's data after compaction: %.2f MiB", after[etcdInUse])
}

func (s *soakRun) etcdctl(args ...string) (out string, err error) {
	const pki = "/etc/kubernetes/pki/etcd/"
	command := append([]string{"-n", "kube-system", "exec", "etcd-cp1", "--", "etcdctl",
		"--cacert", pki + "ca.crt", "--cert", pki + "healthcheck-client.crt", "--key", pki + "healthcheck-client.key"}, args...)
	err = waitUntil(time.Minute, func() error {
		if out, err = s.Kube(s.ctx, command...); err != nil && !strings.Contains(err.Error(), "has been compacted") {
			return fmt.Errorf("running etcdctl: %w", err)
		}
		return nil
	})
	return out, errors.Join(err)
}
