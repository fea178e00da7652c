package guard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The units by which a kubelet runs or not.
const (
	sysextUnit     = "systemd-sysext.service"
	containerdUnit = "containerd.service"
	kubeletUnit    = "kubelet.service"
)

var unitNames = []string{sysextUnit, containerdUnit, kubeletUnit}

// unit is what systemd says of a unit, by the names of its properties.
type unit map[string]string

// units asks systemd for these units.
func (g *guardian) units(ctx context.Context) (map[string]unit, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	properties := "--property=Id,LoadState,ActiveState,SubState,Result,Job,ExecMainStatus,InactiveExitTimestampMonotonic"
	text, err := g.run(ctx, g.log, "systemctl", append([]string{"show", properties}, unitNames...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]unit{}
	for block := range strings.SplitSeq(text, "\n\n") {
		one := unit{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			one[name] = value
		}
		found[one["Id"]] = one
	}
	return found, nil
}

// observeUnits observes what systemd does for the kubelet. What it does not say is not known:
// images may still be merged, and nothing is tried.
func (g *guardian) observeUnits(ctx context.Context, o *Observation) {
	found, err := g.units(ctx)
	if err != nil {
		g.log.Printf("%v", err)
		o.Merging = true
		return
	}
	o.Merging = found[sysextUnit].isAtWork()
	if k := found[kubeletUnit]; g.kubelet == 0 {
		g.kubelet = k.started()
	}
	if k := found[kubeletUnit]; k.hasFailed() {
		o.GaveUp = k["Result"]
	}
	if c := found[containerdUnit]; c.hasFailed() {
		o.Runtime = fmt.Sprintf("%s has failed (%s)", containerdUnit, c["Result"])
	}
}

// isAtWork reports whether systemd starts or stops the unit, or is about to. It is true of one that
// systemd did not answer for.
func (u unit) isAtWork() bool {
	return u["Job"] != "" || !slices.Contains([]string{"active", "inactive", "failed"}, u["ActiveState"])
}

// hasFailed reports whether the unit has failed, and systemd does not start it again: one that it
// starts again is activating (systemd.service(5), Restart=). The Result need not be
// start-limit-hit: that of the last end stays.
func (u unit) hasFailed() bool { return u["ActiveState"] == "failed" && u["Job"] == "" }

// started returns when systemd started the unit in this boot, since when it may have failed and
// been restarted; zero if it has not. After a soft reboot systemd may still know when the former
// one started.
func (u unit) started() time.Duration {
	if u["ActiveState"] == "inactive" {
		return 0
	}
	n, err := strconv.ParseInt(u["InactiveExitTimestampMonotonic"], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
