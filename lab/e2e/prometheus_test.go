//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// prometheus is a Prometheus that runs on this machine.
type prometheus struct{ address string }

// startPrometheus starts `bin/prometheus` until the test ends.
func startPrometheus(t *testing.T, program, config string) prometheus {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; `make e2e-prometheus` builds it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the context of the test has ended
		if t.Failed() {
			text, _ := os.ReadFile(output.Name())
			t.Logf("the end of Prometheus' output:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return prometheus{"http://" + address}
}

// series is a series of samples with its labels.
type series struct {
	labels  map[string]string
	samples []float64 // without those that are not a number
}

// over returns the result of a query at each step between two instants.
func (p prometheus) over(query string, from, to time.Time, step time.Duration) ([]series, error) {
	var answer struct {
		Result []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
	instant := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	err := p.get("/api/v1/query_range?"+url.Values{
		"query": {query}, "start": {instant(from)}, "end": {instant(to)}, "step": {step.String()},
	}.Encode(), &answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	var list []series
	for _, one := range answer.Result {
		s := series{labels: one.Metric}
		for _, value := range one.Values {
			text := fmt.Sprint(value[1])
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is no number: %w", query, text, err)
			}
			if number == number { // NaN is not
				s.samples = append(s.samples, number)
			}
		}
		if len(s.samples) > 0 {
			list = append(list, s)
		}
	}
	return list, nil
}

// now returns the result of a query at this instant.
func (p prometheus) now(query string) ([]series, error) {
	at := time.Now()
	return p.over(query, at, at, time.Second)
}

// get decodes the data of an answer of Prometheus' API.
func (p prometheus) get(path string, into any) error {
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get(p.address + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var body struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("%s: %w", answer.Status, err)
	}
	if body.Error != "" {
		return fmt.Errorf("%s: %s", answer.Status, body.Error)
	}
	return json.Unmarshal(body.Data, into)
}
