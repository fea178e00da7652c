package kube_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// TestUserAgent checks that the API server's audit log names the program.
func TestUserAgent(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		got = r.UserAgent()
		http.NotFound(answer, r)
	}))
	defer server.Close()
	for _, given := range []string{"kubectl-upgrade-coordinator", ""} {
		kinds, err := kube.NewKinds(&rest.Config{Host: server.URL, UserAgent: given})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kinds.UpgradePolicies.List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Error("the test's server has a policy")
		}
		if want := cmp.Or(given, "kube.test/"); !strings.HasPrefix(got, want) {
			t.Errorf("with the user agent %q in the configuration: got %q, want %s", given, got, want)
		}
	}
}
