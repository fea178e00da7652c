package snapshot

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/prometheus/common/expfmt"
)

// Metrics come from each apiserver, in either of two formats.
func FuzzMetrics(f *testing.F) {
	f.Add(true, []byte("# TYPE apiserver_requested_deprecated_apis gauge\napiserver_requested_deprecated_apis{group=\"a\",version=\"v1\",removed_release=\"1.36\"} 1\nprocess_start_time_seconds 1.7e9\n"))
	f.Add(true, []byte("x{y=\"\\"))
	f.Add(false, []byte{3, 10, 1, 'x'})
	f.Fuzz(func(t *testing.T, text bool, body []byte) {
		header := http.Header{"Content-Type": {string(metricsFormat)}}
		if text {
			header.Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		}
		answer := decodeMetrics(expfmt.NewDecoder(bytes.NewReader(body), expfmt.ResponseFormat(header)), "cp-1")
		for _, api := range answer.apis {
			if api.APIServer != "cp-1" {
				t.Errorf("%+v", api)
			}
		}
	})
}

// A lock of kured's that is there and cannot be read is held.
func FuzzKuredLock(f *testing.F) {
	f.Add(`{"nodeID":"a"}`)
	f.Add(`{"maxOwners":2,"locks":[{"nodeID":"a"},{"nodeID":"b"}]}`)
	f.Add(`{"maxOwners":2,"locks":null}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, lock string) {
		by, held := lockHolders(lock)
		if held != (by != "") || lock == "" && held {
			t.Errorf("%q is held by %q: %t", lock, by, held)
		}
	})
}
