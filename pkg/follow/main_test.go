package follow

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }
