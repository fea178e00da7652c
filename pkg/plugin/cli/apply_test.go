package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestApplyWithoutTerminalLogsEachTransition checks that without a terminal apply writes a
// log after the plan, in which each line begins with its time.
func TestApplyWithoutTerminalLogsEachTransition(t *testing.T) {
	for _, end := range []struct {
		outcome v1alpha1.Outcome
		code    int
		says    string
	}{
		{v1alpha1.OutcomeSucceeded, 0, ""},
		{v1alpha1.OutcomeRolledBack, 3, "error: ClusterUpgrade v1.35.4 ended: RolledBack: all 3 nodes are done; `kubectl upgrade history v1.35.4` shows the nodes\n"},
	} {
		t.Run(string(end.outcome), func(t *testing.T) {
			c, config, args := minorCluster(t)
			a := &watched{code: make(chan int, 1)}
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &a.out, ErrOut: &a.errOut}
			args = append(args, "--yes", "--kubeconfig="+apitest.Kubeconfig(t, config))
			go func() { a.code <- cli.Run(context.Background(), args, streams, "test") }()
			a.out.await(t, "node cp-1: Idle")
			c.writeOrders()
			c.trigger()
			a.out.await(t, "upgrade v1.35.4: Minor v1.34.4 -> v1.35.4, Released\n")
			// Steps that end before the objects are read are logged too.
			for _, step := range []v1alpha1.Step{v1alpha1.StepLocking, v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm} {
				c.setStep("cp-1", step, v1alpha1.ReasonReleased, "")
			}
			for _, words := range []string{"node cp-1: Locking", "node cp-1: Snapshotting", "node cp-1: Kubeadm"} {
				a.out.await(t, words)
			}
			c.finishAs(end.outcome)
			a.exit(t, end.code)
			// There may be a warning that the index of images cannot be read.
			if got := a.errOut.text(); !strings.HasSuffix(got, end.says) || strings.Count(got, "error: ") != strings.Count(end.says, "error: ") {
				t.Errorf("stderr is %q, want %q at the end", got, end.says)
			}
			_, log, _ := strings.Cut(a.out.text(), " created in ")
			_, log, _ = strings.Cut(log, "\n")
			for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
				stamp, _, _ := strings.Cut(line, " ")
				if _, err := time.Parse(time.RFC3339, stamp); err != nil || strings.Contains(line, "\x1b") {
					t.Errorf("got a line without its time, or with color: %q", line)
				}
			}
		})
	}
}

// TestSecondOfTwoApplies checks that apply follows the upgrade that another command has made since the
// cluster was read.
func TestSecondOfTwoApplies(t *testing.T) {
	_, config, args := minorCluster(t)
	transport, err := rest.TransportFor(config)
	must(t, err)
	server, err := url.Parse(config.Host)
	must(t, err)
	var another sync.Once
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		if r.In.Method != http.MethodPost || !strings.HasSuffix(r.In.URL.Path, "/clusterupgrades") || r.In.URL.Query().Has("dryRun") {
			return
		}
		another.Do(func() {
			body, _ := io.ReadAll(r.In.Body) // an incomplete one is refused
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
			first := r.Out.Clone(t.Context())
			first.Body = io.NopCloser(bytes.NewReader(body))
			if answer, err := transport.RoundTrip(first); err != nil || answer.StatusCode != http.StatusCreated {
				t.Errorf("the first command: %v, %v", answer, err)
			}
		})
	}}
	between := httptest.NewServer(proxy)
	defer between.Close()
	var out, errOut strings.Builder
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	args = append(args, "--yes", "--detach", "--kubeconfig="+apitest.Kubeconfig(t, &rest.Config{Host: between.URL}))
	if code := cli.Run(t.Context(), args, streams, "test"); code != 0 || !strings.Contains(errOut.String(), "ClusterUpgrade v1.35.4 asks for v1.35.4 already.") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
}
