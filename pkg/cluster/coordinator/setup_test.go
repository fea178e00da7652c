package coordinator

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/send"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// sendNotice is the argument with which this program is the one that sends a notice.
const sendNotice = "send-notice"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == sendNotice {
		if err := send.Answer(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	http.DefaultTransport = offline{http.DefaultTransport}
	apitest.Main(m)
}

// offline keeps coordinators from reading the default source.
type offline struct{ loopback http.RoundTripper }

func (o offline) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "127.0.0.1:") {
		return o.loopback.RoundTrip(r)
	}
	return nil, errors.New("the test is offline")
}

// FreshServer returns an API server with our kinds and the coordinator's manifests, and nothing
// else. The test runs beside others: each has a server of its own, and mostly waits.
func FreshServer(t *testing.T) *rest.Config {
	t.Helper()
	t.Parallel()
	return apitest.Fresh(t, func(config *rest.Config) {
		apitest.InstallCRDs(t, config)
		for _, manifests := range [][]string{{"-f", "../../../manifests/namespace.yaml"}, {"-k", "../../../manifests/coordinator"}, {"-k", "../../../manifests/hooks"}} {
			if out, err := apitest.Kubectl(t, config, append([]string{"apply"}, manifests...)...).CombinedOutput(); err != nil {
				t.Fatalf("kubectl apply %s: %v\n%s", manifests, err, out)
			}
		}
	})
}

// SendNotice is the command that sends one notice.
func SendNotice() []string { return []string{os.Args[0], sendNotice} }
