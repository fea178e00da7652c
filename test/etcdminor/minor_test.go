//go:build etcdminor

package etcdminor

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestMinor replaces members of each version in FROM by those of TO, and writes PAGE.
func TestMinor(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("DURATION"))
	if err != nil {
		t.Fatal("DURATION: `make etcd-minor` runs this test: ", err)
	}
	before, from, to := builds(t, "BEFORE")[0], builds(t, "FROM"), builds(t, "TO")[0]
	found := &results{to: to, at: time.Now(), rolls: map[string]roll{}, cases: map[string][]string{}}
	t.Run("versions", func(t *testing.T) {
		for _, b := range from {
			t.Run(b.version, func(t *testing.T) {
				t.Parallel()
				made := rollMembers(t, b, to, duration)
				found.add(b, made, promoteLearner(t, b, to), replayOld(t, before, b, to), refuseTransaction(t, b, to))
			})
		}
	})
	if page := os.Getenv("PAGE"); page != "" && !t.Failed() {
		if err := os.WriteFile(page, []byte(found.page(from)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// builds reads versions and folders: "3.6.8=/folder 3.6.11=/another".
func builds(t *testing.T, name string) (list []build) {
	for _, one := range strings.Fields(os.Getenv(name)) {
		version, folder, _ := strings.Cut(one, "=")
		list = append(list, build{version, filepath.Join(folder, "etcd")})
	}
	if len(list) == 0 {
		t.Fatalf("%s names no version of etcd: `make etcd-minor` runs this test", name)
	}
	return list
}

// roll is what happened while members were replaced.
type roll struct {
	load      *load
	wrote     time.Duration
	compared  int
	snapshots int // that members got, as they had been away for too long
	errors    []string
	returned  time.Duration // the longest time from the end of a member until it served again
}

// rollMembers replaces three members one after the other. With each mix of versions, a member is away for a
// while: an old one that comes back to a new leader, and a new one that comes back to an old leader.
func rollMembers(t *testing.T, from, to build, duration time.Duration) (r roll) {
	c := newCluster(t, from)
	r.load = c.newLoad()
	part, began := duration/9, time.Now() // of what is waited for below
	mixed := func() {
		c.settle(r.load, part)
		if version := c.clusterVersion(c.members[2]); version != from.minor()+".0" {
			t.Errorf("the cluster's version is %s while a member runs %s", version, from.version)
		}
		c.compare(false)
		r.compared++
	}
	away := func(m *member) {
		c.alive()
		m.process.Stop() // as in a power failure
		c.settle(r.load, 2*part)
		c.start(m, m.runs, "existing")
		c.await(m)
		c.compare(false)
		r.compared++
	}
	replace := func(m *member) {
		c.alive()
		ended := time.Now()
		c.replace(m, to)
		r.returned = max(r.returned, time.Since(ended))
	}
	cp1, cp2, cp3 := c.members[0], c.members[1], c.members[2]
	mixed()
	replace(cp1)
	mixed()
	c.lead(cp1)
	away(cp2)
	replace(cp2)
	mixed()
	c.lead(cp3)
	away(cp2)
	mixed()
	replace(cp3)
	c.retry("the cluster's version", func(context.Context) bool { return c.clusterVersion(cp1) == to.minor()+".0" })
	c.settle(r.load, part)
	r.wrote = time.Since(began)
	r.load.end()
	c.alive()
	for _, problem := range r.load.problems {
		t.Error(problem)
	}
	r.snapshots, r.errors = c.logs()
	c.wayBack(from)
	return r
}

// settle lets the clients work for a time, and compacts what an API server would.
func (c *cluster) settle(l *load, part time.Duration) {
	l.leases.Go(func() { l.leave("lease/" + time.Now().Format(time.RFC3339Nano)) })
	time.Sleep(part)
	l.mutex.Lock()
	events := int64(l.events)
	l.mutex.Unlock()
	if _, err := l.client.Compact(c.t.Context(), max(1, events-1000)); err != nil {
		c.t.Logf("compacting: %v", err)
	}
}

// alive checks that no member has ended by itself.
func (c *cluster) alive() {
	for _, m := range c.members {
		select {
		case <-m.process.Done:
			c.t.Errorf("etcd %s on %s ended by itself", m.runs.version, m.name)
		default:
		}
	}
}

// compare checks that all members have the same data at one revision, or, after the last write, at the end.
func (c *cluster) compare(last bool) {
	c.t.Helper()
	c.retry("the same data on all members", func(ctx context.Context) bool {
		hashes, newest := map[[3]int64]bool{}, map[int64]bool{}
		first, err := c.members[0].direct.Get(ctx, "none")
		if err != nil {
			return false
		}
		for _, m := range c.members {
			answer, err := m.direct.HashKV(ctx, m.client, first.Header.Revision)
			if err != nil {
				return false
			}
			hashes[[3]int64{int64(answer.Hash), answer.HashRevision, answer.CompactRevision}] = true
			newest[answer.Header.Revision] = true
		}
		return len(hashes) == 1 && (!last || len(newest) == 1)
	})
}

// wayBack checks what the members say about a return to the former minor, and that it needs a downgrade or a snapshot:
// the former version refuses the data.
func (c *cluster) wayBack(from build) {
	for _, m := range c.members {
		status, err := m.direct.Status(c.t.Context(), m.client)
		c.must(err)
		if status.Version != m.runs.version || status.IsLearner || status.DowngradeInfo.GetEnabled() || len(status.Errors) > 0 {
			c.t.Errorf("%s: %+v", m.name, status)
		}
		c.retry("the storage's version", func(ctx context.Context) bool {
			status, err := m.direct.Status(ctx, m.client)
			return err == nil && status.StorageVersion == m.runs.minor()+".0"
		})
	}
	m := c.members[0]
	_, err := m.direct.Downgrade(c.t.Context(), clientv3.DowngradeValidate, from.minor()+".0")
	c.must(err)
	m.process.Stop()
	c.start(m, from, "existing")
	select {
	case <-m.process.Done:
	case <-time.After(time.Minute):
		c.t.Errorf("etcd %s runs with the data of the new minor", from.version)
	}
}

// logs returns how many snapshots members got, and which errors they logged but those of a server that stops.
func (c *cluster) logs() (snapshots int, errors []string) {
	files, err := filepath.Glob(filepath.Join(c.folder, "*", "*", "etcd.log"))
	c.must(err)
	kinds := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		c.must(err)
		for line := range strings.Lines(string(text)) {
			var entry struct{ Level, Msg, Error string }
			_ = json.Unmarshal([]byte(line), &entry) // gRPC writes other lines, about connections
			stops := strings.HasSuffix(entry.Error, "Server closed") || strings.HasSuffix(entry.Error, "closed network connection")
			if slices.Contains([]string{"error", "dpanic", "panic", "fatal"}, entry.Level) && !stops {
				kinds[entry.Level+": "+entry.Msg+": "+entry.Error] = true
			}
			if entry.Msg == "applied snapshot" {
				snapshots++
			}
		}
	}
	return snapshots, slices.Sorted(maps.Keys(kinds))
}
