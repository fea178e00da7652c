package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
)

func (c Clients) askPrometheus(ctx context.Context, g v1alpha1.PrometheusGate) Answer {
	client, err := web.NewClient(ctx, c.Secrets, web.Access{CASecret: g.CASecret, TokenSecret: g.TokenSecret})
	if err != nil {
		return unknown("%v", err)
	}
	server, err := api.NewClient(api.Config{Address: g.URL, Client: client})
	if err != nil {
		return unknown("%v", err)
	}
	value, warnings, err := prometheus.NewAPI(server).Query(ctx, g.Query, time.Time{})
	var refused *prometheus.Error
	switch {
	case errors.As(err, &refused):
		return unknown("%s does not answer the query: %s", g.URL, refused.Msg)
	case err != nil:
		return unknown("%v", err) // names the address
	case len(warnings) > 0:
		return unknown("the answer may be incomplete: %s", strings.Join(warnings, "; "))
	}
	return judge(value, g.Expect)
}

// judge returns what the result of a query means.
func judge(value model.Value, expect v1alpha1.Expectation) Answer {
	vector, is := value.(model.Vector)
	if !is {
		return unknown("the query returns a %s: write one that returns a vector, such as a comparison", value.Type())
	}
	for _, sample := range vector {
		if math.IsNaN(float64(sample.Value)) {
			return unknown("the query returns NaN for %s", sample.Metric)
		}
	}
	message := "the query returns nothing"
	if len(vector) > 0 {
		message = "the query returns " + counted(len(vector), "result") + ", such as " + sampleText(vector[0])
	}
	if (len(vector) == 0) == (expect == v1alpha1.ExpectEmpty) {
		return open("%s", message)
	}
	return closed("%s", message)
}

func sampleText(s *model.Sample) string {
	if s.Histogram != nil {
		return s.Metric.String()
	}
	return fmt.Sprintf("%s = %s", s.Metric, s.Value)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
