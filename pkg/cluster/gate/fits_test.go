package gate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
)

// TestAnswersFit checks that the answer of a gate fits into the policy's status, whatever a server says.
func TestAnswersFit(t *testing.T) {
	long := strings.Repeat("ö", 3000)
	for _, row := range []struct {
		code int
		text string
	}{
		{http.StatusUnprocessableEntity, fmt.Sprintf(`{"status":"error","error":%q}`, long)},
		{http.StatusOK, fmt.Sprintf(`{"status":"error","error":%q,"errorType":%[1]q}`, long)},
		{http.StatusOK, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"alertname":%q,"a":%[1]q},"value":[1,"1"]}]}}`, long)},
		{http.StatusOK, fmt.Sprintf(`{"status":"success","data":{"resultType":%q}}`, long)},
		{http.StatusBadGateway, long},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(row.code)
			_, _ = w.Write([]byte(row.text))
		}))
		g := v1alpha1.Gate{Name: "g", TimeoutSeconds: 10, Prometheus: &v1alpha1.PrometheusGate{URL: server.URL, Query: "ALERTS", Expect: v1alpha1.ExpectEmpty}}
		if answer := (gate.Clients{}).Ask(t.Context(), g); answer.State == v1alpha1.GateOpen || answer.Message == "" || len(answer.Message) > 1024 {
			t.Errorf("%d %.60s: %s with a message of %d bytes: %.80s", row.code, row.text, answer.State, len(answer.Message), answer.Message)
		}
		server.Close()
	}
}
