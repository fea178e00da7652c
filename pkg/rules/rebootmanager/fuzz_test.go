package rebootmanager

import "testing"

// A lock of kured's that is there and cannot be read is held.
func FuzzKuredLock(f *testing.F) {
	f.Add(`{"nodeID":"a"}`)
	f.Add(`{"maxOwners":2,"locks":[{"nodeID":"a"},{"nodeID":"b"}]}`)
	f.Add(`{"maxOwners":2,"locks":null}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, lock string) {
		by, _, _, held := lockHolders(lock)
		if held != (by != "") || lock == "" && held {
			t.Errorf("%q is held by %q: %t", lock, by, held)
		}
	})
}
