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

// A lock of kured's that is there and cannot be read is held.
func FuzzKuredLock(f *testing.F) {
	f.Add(`{"nodeID":"a"}`)
	f.Add(`{"maxOwners":2,"locks":[{"nodeID":"a"},{"nodeID":"b"}]}`)
	f.Add(`{"maxOwners":2,"locks":null}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, lock string) {
		by, _, held := lockHolders(lock)
		if held != (by != "") || lock == "" && held {
			t.Errorf("%q is held by %q: %t", lock, by, held)
		}
	})
}
