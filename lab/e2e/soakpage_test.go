//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// counted is how many rounds of a kind there were.
type counted struct {
	name           string
	rounds, passed int
	took           []time.Duration // sorted
}

// soakPage begins the page.
const soakPage = `# A long run

<!-- Written by the end-to-end test: make e2e-soak. -->

` + "`make e2e-soak`" + ` upgrades one cluster of real nodes again and again, and measures after each round whether anything grows. The nodes are those of the [lab](../README.md): one control plane and three workers.

- A round is a patch of every node, or reboots of w1 and then w2. Patches beyond v1.34.4 are its programs under other version names, until v1.34.9.
- In about half of the rounds a fault of [reliability.md](reliability.md) is injected at a step of w1, both at random.
- After each round nothing may be left over, and a recorder outside, which sees every version of every object, checks the [promises](../../docs/architecture.md#promises).
- Memory and open files are those that the kernel reports: memory without the pages of files, which are shared and can be dropped. Goroutines are counted in the processes' memory, as a debugger does.
- A process that a fault, a reboot or a patch restarted is another process: its figures are compared with its own, or with those of others that had just started. A coordinator is another one as the leader.
- API requests are counted by the API server for kubectl-upgrade's service accounts. Those that an agent makes as the kubelet, to cordon and to evict, are not among them.

To repeat it, as root on a Debian machine: ` + "`make e2e-soak DURATION=1h SEED=%d`" + `. The seed chooses rounds and faults; the test fails if a round fails, a promise is broken or a figure grows beyond its limit.

## The run
%s of rounds, %d in all after one to warm up; %d versions of objects were recorded. Promises: %s.

| round | rounds | passed | median time | longest |
| --- | ---: | ---: | ---: | ---: |
%s
| fault | rounds | passed | median time | longest |
| --- | ---: | ---: | ---: | ---: |
%s
## Figures
*Early* is the largest value of the first quarter of the measurements, *late* the median of the last quarter, and *per hour* the slope of the line through all of them. A figure with fewer than six measurements is shown, and its growth is not judged.

| what | measurements | first | early | late | last | per hour | may grow by, or to |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
%s`

// writePage writes the page that SOAK_PAGE names, also of a run that failed, but not of one that
// is void, and prints it.
func (s *soakRun) writePage(t *testing.T) {
	if s.lasted == 0 {
		s.lasted = time.Since(s.began)
	}
	faults := func(r soakRound) string { return r.name + ": " + r.what }
	page := fmt.Sprintf(soakPage, s.seed, s.lasted.Round(time.Minute), len(s.done), s.moments, promises(s.broken),
		countedRows(byKind(s.done, func(r soakRound) string { return r.kind() })), countedRows(byKind(s.done, faults)), figureRows(s.figures()))
	t.Log("\n" + page)
	path := os.Getenv("SOAK_PAGE")
	if path == "" || s.isVoid(t, s.began) {
		return
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Error(err)
	}
}

func countedRows(all []counted) string {
	var rows strings.Builder
	for _, c := range all {
		fmt.Fprintf(&rows, "| %s | %d | %d | %s | %s |\n", cell(c.name), c.rounds, c.passed,
			c.took[len(c.took)/2].Round(time.Second), c.took[len(c.took)-1].Round(time.Second))
	}
	return rows.String()
}

func figureRows(all []figure) string {
	var rows strings.Builder
	for _, f := range all {
		if len(f.series) == 0 {
			continue
		}
		may := f.may
		if f.tooLarge() != "" {
			may = "**too much**: " + may
		}
		fmt.Fprintf(&rows, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", f.name, len(f.series), number(f.series[0].Value),
			number(f.series.Early()), number(f.series.Late()), number(f.series[len(f.series)-1].Value), number(f.series.PerHour()), may)
	}
	return rows.String()
}

// number returns a value with one digit after the point, where there is one.
func number(value float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	if text == "-0" {
		return "0"
	}
	return text
}
