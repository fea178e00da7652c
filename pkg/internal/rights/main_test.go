// Package rights_test tries the manifests on a real API server: what each identity
// may do with them, and what each pod asks of its namespace.
package rights_test

import (
	"flag"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

var update = flag.Bool("update", false, "write the table of docs/security.md anew")

func TestMain(m *testing.M) { apitest.Main(m) }
