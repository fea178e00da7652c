// Package rights_test tests the manifests on a real API server: what each identity may do, and
// which privileges each pod requires.
package rights_test

import (
	"flag"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var update = flag.Bool("update", false, "write lab/results/rights.md anew")

func TestMain(m *testing.M) { apitest.Main(m) }
