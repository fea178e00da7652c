package markdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// nodes writes a row for each node, or for each that people look for.
func (d *document) nodes() {
	shown := d.Nodes
	title := "Nodes"
	if len(shown) > maxNodes {
		shown = slices.DeleteFunc(slices.Clone(shown), func(n report.Node) bool {
			return !n.ControlPlane && n.Attempts < 2 && n.State != report.Failed && n.State != report.Active
		})
		shown = shown[:min(len(shown), maxNodes)]
		title = fmt.Sprintf("Nodes: %d of %d, control planes and those that were tried again or need a person", len(shown), len(d.Nodes))
	}
	if len(shown) == 0 {
		return
	}
	d.table(title, "Node", "Versions", "Began", "Back in service", "Out of service", "Took (expected)", "Attempts", "Result")
	for _, n := range shown {
		versions := code(n.From)
		if n.From != n.To {
			versions += " → " + code(n.To)
		}
		result := string(n.State)
		if n.Reason != "" {
			result += ": " + d.said(strings.TrimSuffix(string(n.Reason)+": "+n.Message, ": "))
		}
		if n.MethodMessage != "" {
			result += "; rebooted, because " + text(n.MethodMessage)
		}
		if n.Rehearsal != "" {
			result += "; " + text(n.Rehearsal)
		}
		d.row(code(n.Name), versions, d.clock(n.StartTime), d.clock(n.EndTime), took(time.Duration(n.OutOfServiceSeconds)*time.Second), parts(n), attempts(n), result)
	}
}

// attempts returns how often the node was taken out of service for it. A node whose certificates are renewed stays in.
func attempts(n report.Node) string {
	if n.Attempts == 0 {
		return "–"
	}
	return fmt.Sprint(n.Attempts)
}

func parts(n report.Node) string {
	texts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		texts[i] = fmt.Sprintf("%s %s (%s)", p.Part, took(time.Duration(p.Seconds)*time.Second), took(time.Duration(p.ExpectedSeconds)*time.Second))
	}
	return strings.Join(texts, ", ")
}

// waits writes how many nodes waited for each reason, and how long.
func (d *document) waits() {
	type sum struct {
		nodes   map[string]time.Duration
		message string
	}
	sums := map[v1alpha1.Reason]*sum{}
	for _, n := range d.Nodes {
		for _, w := range n.Waits {
			s := sums[w.Reason]
			if s == nil {
				s = &sum{nodes: map[string]time.Duration{}, message: w.Message}
				sums[w.Reason] = s
			}
			if s.message != w.Message {
				s.message = w.Reason.Info().Meaning
			}
			s.nodes[n.Name] += w.End.Sub(w.Start)
		}
	}
	if len(sums) == 0 {
		return
	}
	d.table("Who waited, and why", "Reason", "Nodes", "Longest", "Why")
	reasons := make([]v1alpha1.Reason, 0, len(sums))
	for reason := range sums {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b v1alpha1.Reason) int {
		return cmp.Or(len(sums[b].nodes)-len(sums[a].nodes), cmp.Compare(a, b))
	})
	for _, reason := range reasons {
		longest, node := time.Duration(0), ""
		for name, waited := range sums[reason].nodes {
			if waited > longest || waited == longest && name < node {
				longest, node = waited, name
			}
		}
		d.row(code(report.Unknown(reason)), fmt.Sprint(len(sums[reason].nodes)), took(longest)+" ("+code(node)+")", d.said(sums[reason].message))
	}
}

// findings writes what preflight found, and who ignored it.
func (d *document) findings() {
	why := map[string]string{}
	for _, check := range d.IgnoreChecks {
		why[check.ID] = text(cmp.Or(check.Comment, "no reason was given"))
		if check.By != "" {
			why[check.ID] += ", by " + code(check.By)
		}
	}
	if len(d.Findings) > 0 {
		d.table("Preflight", "Level", "Check", "What", "Ignored")
	}
	for _, f := range d.Findings {
		ignored := ""
		if f.Ignored {
			ignored = cmp.Or(why[f.ID], "no reason was given")
		}
		d.row(string(f.Level), code(f.ID), d.said(f.Message), ignored)
	}
	if len(d.Findings) > 0 {
		return
	}
	for i, check := range d.IgnoreChecks {
		if i == 0 {
			d.line("")
		}
		d.line("- Ignored check %s: %s", code(check.ID), why[check.ID])
	}
}

// bytes writes the digests of the images and of the snapshot.
func (d *document) bytes() {
	if len(d.Images) > 0 || d.EtcdSnapshot != nil {
		d.table("Images and snapshot", "What", "Digest", "Where")
	}
	for _, image := range d.Images {
		d.row("Image for "+text(string(image.Architecture)), code(string(image.Digest)), code(image.URL))
	}
	if s := d.EtcdSnapshot; s != nil {
		d.row("Snapshot of etcd, "+d.clock(&s.CreationTime.Time), code(string(s.Digest)), code(s.Path)+" on "+code(s.Node))
	}
	d.line("")
}
