package hooks

import (
	"net/http"
	"os"
	"strings"
	"testing"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// TestBodies sends bodies around the limits.
func TestBodies(t *testing.T) {
	w := newWorld(t)
	honest, err := os.ReadFile("testdata/canupdatemachine-patch-and-template.json")
	if err != nil {
		t.Fatal(err)
	}
	padded := func(size int) string {
		return strings.TrimSuffix(strings.TrimSpace(string(honest)), "}") + strings.Repeat(" ", size-len(honest)) + "}"
	}
	for _, test := range []struct {
		name, body, message string
	}{
		{"small", string(honest), "cp1 waits: the coordinator has not"},
		{"as large as a small one may be", padded(smallRequest), "cp1 waits: the coordinator has not"},
		{"a large one", padded(smallRequest + 1000), "cp1 waits: the coordinator has not"},
		{"almost too large", padded(maxRequest - 1000), "cp1 waits: the coordinator has not"},
		{"too large", padded(maxRequest + 1000), "the request cannot be read: it is larger than 4 MiB"},
		{"empty", " ", "the request cannot be read: unexpected EOF"},
		{"no JSON", "{", "the request cannot be read: it is no JSON of such a request"},
		{"another shape", `{"current":{"machine":[]}}`, "the request cannot be read: it is no JSON of such a request"},
		{"without objects", `{}`, "the request cannot be read: it is no JSON of such a request"},
		{"many values", `{"current":{"machine":{"x":[` + strings.Repeat("1,", maxValues+1) + `1]}}}`, "the request cannot be read: it has more than 50000 values"},
		{"deep", strings.Repeat(`{"a":`, maxDepth+1), "the request cannot be read: it has more than 50000 values, or more than 64"},
		{"a long text with brackets", `{"x":"` + strings.Repeat(`[{\"`, maxValues) + `"}`, "the request cannot be read: it is no JSON of such a request"},
		{"a long name", `{"current":{"machine":{"metadata":{"name":"` + strings.Repeat("a", 300) + `"}}},"desired":{"machine":{}}}`, "the request of Cluster API names an object by more than 253"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.t = t
			for _, known := range []bool{true, false} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+"/hooks.runtime.cluster.x-k8s.io/v1alpha1/canupdatemachine/can-update-machine", strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				if !known {
					request.ContentLength = -1
				}
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				var got runtimehooksv1.CanUpdateMachineResponse
				decodeAnswer(t, answer, &got)
				if got.Status != runtimehooksv1.ResponseStatusFailure || !strings.HasPrefix(got.Message, test.message) {
					t.Errorf("with its size: %t: got %s %q, want Failure %q", known, got.Status, got.Message, test.message)
				}
			}
		})
	}
}
