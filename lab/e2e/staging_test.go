//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// TestStaging measures what nodes take from the source when a patch appears: each for itself,
// and through the cache of docs/images.md. It writes its section of lab/results/performance.md:
// `make e2e-staging`.
func TestStaging(t *testing.T) {
	c := newCluster(t, 1, 6)
	c.apply(t, scenario.ClosedSchedule(time.Now()))
	cache := c.startCache(t)

	c.useSource(t, cache.direct)
	each := c.stage(t, to)
	fromSource := cache.read(t)
	c.useSource(t, cache.cached)
	again := nextPatch(t, to)
	once := c.stage(t, again, "--programs-of", to)
	fromSourceOnce := cache.read(t) - fromSource
	if fromSourceOnce >= fromSource/2 {
		t.Errorf("through the cache %d bytes came from the source, without it %d", fromSourceOnce, fromSource)
	}
	row := func(what string, took time.Duration, bytes int64) []string {
		return []string{what, fmt.Sprintf("%.1f s", took.Seconds()), fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))}
	}
	page := performance.Open(t)
	page.Record(t, performance.Section{
		Name: "staging", Order: 30, Title: "Staging", Measures: []string{"pkg/node/sysupdate", "pkg/image"},
		Text: fmt.Sprintf("`make e2e-staging` measures %d real nodes of the [lab](../README.md) that stage a patch when it is requested, with nginx between them and the source: first as a plain proxy, then as the [cache of images.md](../../docs/images.md#a-cache-in-front-of-the-source). There is no network between the nodes.", len(c.nodes)),
		Tables: []performance.Table{{
			Columns: []string{"", "until all nodes have staged", "from the source"},
			Rows:    [][]string{row("each node for itself", each, fromSource), row("through a cache", once, fromSourceOnce)},
		}},
		Notes: page.Last(t, "staging").Notes,
	})
}

func (c *testCluster) useSource(t *testing.T, url string) {
	t.Helper()
	c.patchPolicy(t, `{"source":{"url":"`+url+`"}}`)
	c.eventually(t, time.Minute, "the source is ready", c.sourceReady)
}

// stage publishes a version, requests it, and returns how long it takes until every node has
// staged it.
func (c *testCluster) stage(t *testing.T, version string, flags ...string) time.Duration {
	t.Helper()
	c.must(t)(c.Lab.Lab(c.ctx, append([]string{"publish", version}, flags...)...))
	began := time.Now()
	c.apply(t, fmt.Sprintf(patchBy, version, v1alpha1.MethodReboot))
	c.eventually(t, 5*time.Minute, "every node has staged "+version, func() error {
		nodes, err := c.ours.NodeUpgrades.List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, n := range nodes.Items {
			if n.Status.Versions.Staged != version {
				return fmt.Errorf("%s has staged %q", n.Name, n.Status.Versions.Staged)
			}
		}
		return nil
	})
	took := time.Since(began)
	c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrade", version))
	return took
}

// cache is nginx before the lab's image server.
type cache struct {
	direct, cached string // addresses for the UpgradePolicy
	log            string
}

// nginxConf has the server of docs/images.md, and a second one that stores nothing.
const nginxConf = `
daemon off;
pid %[1]s/pid;
error_log %[1]s/error;
events {}
http {
  log_format bytes '$upstream_bytes_received';
  access_log %[1]s/log bytes;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server {
    listen 10.88.0.1:8091;
    location / { proxy_pass http://10.88.0.1:8080/; }
  }
%[2]s}
`

// startCache runs nginx until the test ends.
func (c *testCluster) startCache(t *testing.T) cache {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(c.root, "docs", "images.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	snippet := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindStringSubmatch(string(page))[1]
	snippet = strings.NewReplacer(
		"/var/cache/nginx/kubernetes", filepath.Join(dir, "stored"),
		"listen 8080", "listen 10.88.0.1:8090",
		"https://extensions.flatcar.org/extensions/kubernetes/", "http://10.88.0.1:8080/",
	).Replace(snippet)
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, snippet), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	nginx := exec.CommandContext(ctx, "nginx", "-p", dir, "-c", conf)
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = nginx.Wait() })
	return cache{direct: "http://10.88.0.1:8091/", cached: "http://10.88.0.1:8090/", log: filepath.Join(dir, "log")}
}

// read returns how many bytes came from the source so far.
func (s cache) read(t *testing.T) (total int64) {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil {
			total += n
		}
	}
	return total
}
