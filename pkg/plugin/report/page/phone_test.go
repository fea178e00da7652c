package page_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

// TestPagesFitPhones checks what keeps a page as narrow as a phone: each table scrolls in a box of its own, a word that is
// longer than a line is broken, and the phone does not zoom out. `make test-report` measures a report in a browser.
func TestPagesFitPhones(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	row := fleet.ReportRow{Runs: []fleet.Run{{Version: "v1.34.4", From: &at}}, Upgrades: []view.Ended{{Name: "v1.34.4", EndTime: &at}}}
	fleets, err := page.FleetHTML(fleet.NewReport([]fleet.ReportRow{row}, nil, at), page.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	large := func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(300) }
	for name, text := range map[string][]byte{"a fleet": fleets, "a cluster": write(t, made(t, upgradesample.Example)), "a large cluster": write(t, made(t, large))} {
		for _, want := range []string{`<meta name="viewport" content="width=device-width, initial-scale=1">`, "overflow-wrap: break-word;"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: the page has no %s", name, want)
			}
		}
		root, err := html.Parse(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		tables := 0
		for n := range root.Descendants() {
			if n.Type != html.ElementNode || n.Data != "table" {
				continue
			}
			if tables++; n.Parent.Data != "div" || !isClass(n.Parent, "scroll") {
				t.Errorf("%s: table %d is in a <%s> that does not scroll", name, tables, n.Parent.Data)
			}
		}
		if tables < 2 {
			t.Errorf("%s: the page has %d tables", name, tables)
		}
	}
}

func isClass(n *html.Node, class string) bool {
	for _, a := range n.Attr {
		if a.Key == "class" && a.Val == class {
			return true
		}
	}
	return false
}
