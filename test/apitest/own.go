package apitest

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
)

// StartOwn starts a server that no other test uses, for a test that measures it or restarts it, with
// further flags of kube-apiserver. It ends with the test.
func StartOwn(t testing.TB, flags ...string) *apiserver.Server {
	t.Helper()
	Path(t, "kube-apiserver")
	s, err := apiserver.New(t.Context(), Program, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
