package snapshot

import (
	"bufio"
	"io"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// processStart is when the apiserver began, in seconds. Every one has it.
const processStart = "process_start_time_seconds "

// deprecatedAPIs is 1 for each deprecated API that was called since the apiserver
// started, however often.
// https://kubernetes.io/docs/reference/instrumentation/metrics/
const deprecatedAPIs = "apiserver_requested_deprecated_apis"

// parseMetrics reads Prometheus' text format as far as it is needed.
// https://prometheus.io/docs/instrumenting/exposition_formats/
func parseMetrics(text io.Reader, server string) (answer metricsAnswer) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if started, is := strings.CutPrefix(lines.Text(), processStart); is {
			answer.started = started
		}
		labels, is := strings.CutPrefix(lines.Text(), deprecatedAPIs+"{")
		if !is {
			continue
		}
		labels, value, _ := strings.Cut(labels, "}")
		if strings.TrimSpace(value) != "0" {
			answer.apis = append(answer.apis, requestedAPI(labels, server))
		}
	}
	answer.err = lines.Err()
	return answer
}

// requestedAPI reads a metric's labels. None of their values has a comma or a
// quote: they are parts of names.
func requestedAPI(labels, server string) preflight.RequestedAPI {
	api := preflight.RequestedAPI{APIServer: server}
	fields := map[string]*string{
		"group": &api.Group, "version": &api.Version, "resource": &api.Resource, "subresource": &api.Subresource, "removed_release": &api.Remove,
	}
	for label := range strings.SplitSeq(labels, ",") {
		name, quoted, _ := strings.Cut(label, "=")
		if field := fields[name]; field != nil {
			*field = strings.Trim(quoted, `"`)
		}
	}
	return api
}
