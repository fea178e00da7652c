package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
)

func (c Clients) askPrometheus(ctx context.Context, g v1alpha1.PrometheusGate) Answer {
	client, err := web.ClientFor(ctx, c.Secrets, web.Access{CA: g.CASecretRef, Token: g.TokenSecretRef})
	if err != nil {
		return unknown("%v", err)
	}
	var result queryResult
	err = result.ask(ctx, client, g, http.MethodPost)
	var refused *web.Refusal
	if errors.As(err, &refused) && (refused.Code == http.StatusMethodNotAllowed || refused.Code == http.StatusNotImplemented) {
		result = queryResult{}
		err = result.ask(ctx, client, g, http.MethodGet)
	}
	if err != nil {
		return unknown("%v", err)
	}
	return result.judge(g.Expect)
}

// queryResult is what a Prometheus answers to a query.
// https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
type queryResult struct {
	status   string
	kind     string // of the result
	complete bool   // the result is there
	warnings []string
	samples  int
	first    string // of the samples
	nan      string // a sample that is not a number
}

// ask asks a query. A sample without a value is no answer.
func (q *queryResult) ask(ctx context.Context, client *http.Client, g v1alpha1.PrometheusGate, method string) error {
	address, query := strings.TrimSuffix(g.URL, "/")+"/api/v1/query", url.Values{"query": {g.Query}}.Encode()
	body := query
	if method == http.MethodGet {
		address, body = address+"?"+query, ""
	}
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("preparing the query: %w", err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return web.Ask(client, request, "a Prometheus", func(answer *web.Answer) error {
		err := answer.Object(func(name string) error {
			switch name {
			case "status":
				return answer.Value(&q.status)
			case "warnings":
				return answer.Value(&q.warnings)
			case "data":
				return q.readData(answer)
			}
			return answer.Skip()
		})
		if err == nil && (q.status != "success" || q.kind == "" || q.kind == "vector" && !q.complete) {
			return web.ErrMalformed
		}
		return err
	})
}

func (q *queryResult) readData(answer *web.Answer) error {
	return answer.Object(func(name string) error {
		switch {
		case name == "resultType":
			return answer.Value(&q.kind)
		case name == "result" && (q.kind == "" || q.kind == "vector"):
			q.complete = true
			return answer.Array(func() error { return q.readSample(answer) })
		}
		return answer.Skip()
	})
}

func (q *queryResult) readSample(answer *web.Answer) error {
	var sample struct {
		Metric    model.Metric      `json:"metric"`
		Value     *model.SamplePair `json:"value"`
		Histogram json.RawMessage   `json:"histogram"`
	}
	if err := answer.Value(&sample); err != nil {
		return err
	}
	text := sample.Metric.String()
	switch {
	case sample.Value != nil:
		text += " = " + sample.Value.Value.String()
	case len(sample.Histogram) == 0:
		return web.ErrMalformed
	}
	if q.samples++; q.samples == 1 {
		q.first = text
	}
	if sample.Value != nil && math.IsNaN(float64(sample.Value.Value)) {
		q.nan = sample.Metric.String()
	}
	return nil
}

// judge returns what the result of a query means.
func (q *queryResult) judge(expect v1alpha1.Expectation) Answer {
	switch {
	case len(q.warnings) > 0:
		return unknown("the answer may be incomplete: %s", strings.Join(q.warnings, "; "))
	case q.kind != "vector":
		return unknown("the query returns a %s: write one that returns a vector, such as a comparison", q.kind)
	case q.nan != "":
		return unknown("the query returns NaN for %s", q.nan)
	}
	message := "the query returns nothing"
	if q.samples > 0 {
		message = "the query returns " + counted(q.samples, "result") + ", such as " + q.first
	}
	if (q.samples == 0) == (expect == v1alpha1.ExpectEmpty) {
		return open("%s", message)
	}
	return closed("%s", message)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
