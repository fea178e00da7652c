package snapshot

import (
	"bufio"
	"errors"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// metricsFormat can be decoded one family after the other. The library decodes the text
// format all at once, and an apiserver has many families.
var metricsFormat = expfmt.NewFormat(expfmt.TypeProtoDelim)

const (
	// processStart is when the apiserver began, in seconds. Every one has it.
	processStart = "process_start_time_seconds"
	// deprecatedAPIs is 1 for each deprecated API that was called since the
	// apiserver started, however often.
	// https://kubernetes.io/docs/reference/instrumentation/metrics/
	deprecatedAPIs = "apiserver_requested_deprecated_apis"
)

// largestFamily is how many bytes are read into memory at once.
const largestFamily = 32 << 20

// decodeMetrics decodes the metrics that the checks need. It does not use expfmt's
// decoders: the one for text panics on "# TYPE x \n{}0", and the other allocates any size
// that the message claims.
func decodeMetrics(body io.Reader, server string) (answer metricsAnswer) {
	families, limit := bufio.NewReader(body), protodelim.UnmarshalOptions{MaxSize: largestFamily}
	for {
		var family dto.MetricFamily
		if err := limit.UnmarshalFrom(families, &family); err != nil {
			if !errors.Is(err, io.EOF) {
				answer.err = err
			}
			return answer
		}
		for _, metric := range family.GetMetric() {
			value := metric.GetGauge().GetValue()
			switch {
			case family.GetName() == processStart:
				answer.started = value
			case family.GetName() == deprecatedAPIs && value != 0:
				answer.apis = append(answer.apis, requestedAPI(metric, server))
			}
		}
	}
}

func requestedAPI(metric *dto.Metric, server string) preflight.RequestedAPI {
	api := preflight.RequestedAPI{APIServer: server}
	fields := map[string]*string{
		"group": &api.Group, "version": &api.Version, "resource": &api.Resource, "subresource": &api.Subresource, "removed_release": &api.Remove,
	}
	for _, label := range metric.GetLabel() {
		if field := fields[label.GetName()]; field != nil {
			*field = label.GetValue()
		}
	}
	return api
}
