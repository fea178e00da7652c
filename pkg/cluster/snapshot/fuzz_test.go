package snapshot

import (
	"bytes"
	"testing"
)

// Metrics come from each apiserver, or from what is at its address.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE x \n{}0"))
	f.Add([]byte{3, 10, 1, 'x'})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x7fx"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, api := range decodeMetrics(bytes.NewReader(body), "cp-1").apis {
			if api.APIServer != "cp-1" {
				t.Errorf("%+v", api)
			}
		}
	})
}
