package page_test

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

// BenchmarkFleet makes and writes the report of 5,000 nodes.
func BenchmarkFleet(b *testing.B) {
	s, at := upgradesample.Fleet(5000)
	for b.Loop() {
		r, err := report.New(s, upgradesample.Name, at)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := page.HTML(r, page.Options{Zone: time.UTC, Version: "test"}); err != nil {
			b.Fatal(err)
		}
	}
}
