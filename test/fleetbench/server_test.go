//go:build fleet

package fleetbench

import (
	"bytes"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// metrics reads the API server's metrics.
func (c *cluster) metrics() map[string]*dto.MetricFamily {
	text, err := c.kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(c.Context())
	c.must(err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	c.must(err)
	return families
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// watches returns how many watches are open, by kind: those of the kinds that agents watch.
func (c *cluster) watches() map[string]float64 {
	open := map[string]float64{}
	for _, m := range c.metrics()["apiserver_longrunning_requests"].GetMetric() {
		if label(m, "verb") == "WATCH" {
			open[label(m, "resource")] += m.GetGauge().GetValue()
		}
	}
	return open
}

// watchBytes returns the bytes that all watches were sent, by kind.
func (c *cluster) watchBytes() map[string]float64 {
	sent := map[string]float64{}
	for _, m := range c.metrics()["apiserver_watch_events_sizes"].GetMetric() {
		resource := label(m, "resource")
		if resource == "" {
			resource = strings.ToLower(label(m, "kind"))
		}
		sent[resource] += m.GetHistogram().GetSampleSum()
	}
	return sent
}

// levels returns what the priority levels have done since the API server's start.
func (c *cluster) levels() map[string]level {
	families, all := c.metrics(), map[string]level{}
	add := func(family string, change func(*level, *dto.Metric)) {
		for _, m := range families[family].GetMetric() {
			l := all[label(m, "priority_level")+"/"+label(m, "flow_schema")]
			change(&l, m)
			all[label(m, "priority_level")+"/"+label(m, "flow_schema")] = l
		}
	}
	add("apiserver_flowcontrol_dispatched_requests_total", func(l *level, m *dto.Metric) { l.Dispatched += m.GetCounter().GetValue() })
	add("apiserver_flowcontrol_rejected_requests_total", func(l *level, m *dto.Metric) { l.Rejected += m.GetCounter().GetValue() })
	add("apiserver_flowcontrol_request_wait_duration_seconds", func(l *level, m *dto.Metric) {
		for _, bucket := range m.GetHistogram().GetBucket() {
			if bucket.GetCumulativeCount() == m.GetHistogram().GetSampleCount() {
				l.Waited = max(l.Waited, time.Duration(min(bucket.GetUpperBound(), 3600)*float64(time.Second)))
				return
			}
		}
	})
	return all
}

func (c *cluster) etcd() *clientv3.Client {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{c.server.Etcd}, DialTimeout: 10 * time.Second})
	c.must(err)
	c.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// etcdBytes returns what etcd's file has in use without former versions of objects.
func (c *cluster) etcdBytes() int64 {
	etcd := c.etcd()
	status, err := etcd.Status(c.Context(), c.server.Etcd)
	c.must(err)
	_, err = etcd.Compact(c.Context(), status.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && !strings.Contains(err.Error(), "has been compacted") {
		c.Fatal(err)
	}
	_, err = etcd.Defragment(c.Context(), c.server.Etcd)
	c.must(err)
	status, err = etcd.Status(c.Context(), c.server.Etcd)
	c.must(err)
	return status.DbSizeInUse
}

// objects returns how many objects of each kind of ours there are, and their sizes.
func (c *cluster) objects() map[string]objects {
	etcd, all := c.etcd(), map[string]objects{}
	prefixes := map[string]string{"leases (slots)": "/registry/leases/" + v1alpha1.Namespace + "/", "events": "/registry/events/"}
	for _, kind := range []string{"nodeupgrades", "nodeinventories", "clusterupgrades", "upgraderecords", "upgradepolicies", "maintenanceschedules", "coordinatorstates"} {
		prefixes[kind] = "/registry/" + v1alpha1.Group + "/" + kind + "/"
	}
	for kind, prefix := range prefixes {
		var o objects
		for from := prefix; from != ""; {
			page, err := etcd.Get(c.Context(), from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(500))
			c.must(err)
			from = ""
			for _, kv := range page.Kvs {
				o.Number++
				o.Bytes += len(kv.Key) + len(kv.Value)
				o.Largest = max(o.Largest, len(kv.Value))
				from = string(kv.Key) + "\x00"
			}
			if !page.More {
				break
			}
		}
		all[kind] = o
	}
	return all
}
