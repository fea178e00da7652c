//go:build fleet

package fleetbench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// section is the name of the section.
const section = "fleet"

const sectionText = `
%s measures a fleet of which only the nodes are pretended. etcd and kube-apiserver are real, on one machine and with their defaults (without fsync); so are the coordinator, in its own process, and the plugin. The agents are the real code, too, all in one process, each with its own connections; what it asks of its host is pretended: a verb takes 1 s, a pod ends after 2 s, a reboot takes 40 s. Guards ask as real ones do, if a node is not confirmed within a minute (by default it is not). Each node has three pods that are evicted and an agent's pod; one node is a control plane. Kubelets report their Nodes every five minutes, and 100 of them renew their Leases every ten seconds, as all real ones do: these renewals measure whether kubelets are served.

The upgrade is a patch by reboot of every node with ` + "`maxUnavailable: 10%%`" + ` and ` + "`settleSeconds: 5`" + `. Requests are those in the API server's audit log, watches and their bytes are from its metrics. The size of etcd is what its file has in use after compaction. All programs run on the same machine, so that they also wait for each other.
`

// record returns the section with a result in place of an older one of the same size.
func record(t *testing.T, book performance.Book, r result) performance.Section {
	t.Helper()
	last := book.Last(t, section)
	all := map[int]result{}
	if len(last.Data) > 0 {
		if err := json.Unmarshal(last.Data, &all); err != nil {
			t.Fatal(err)
		}
	}
	all[r.Nodes] = r
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for _, size := range slices.Sorted(maps.Keys(all)) {
		results = append(results, all[size])
	}
	return performance.Section{
		Name: section, Order: 50, Title: "A fleet of pretended nodes", Data: data,
		Measures: []string{"pkg/cluster", "pkg/node/agent", "pkg/node/machine", "pkg/rules", "pkg/clusterstate"},
		Text:     fmt.Sprintf(sectionText, "`make bench-fleet NODES=50,500,5000`"),
		Tables:   []performance.Table{figures(results), requests(results), sizes(results), restarts(results)},
		Notes:    last.Notes, // what they say is a person's judgement
	}
}

// table returns a table with a column for each size. A row whose figure has no goal leaves it
// empty.
func table(text string, results []result, rows ...row) performance.Table {
	t := performance.Table{Text: text, Columns: []string{"", "goal at 5,000"}}
	for _, r := range results {
		t.Columns = append(t.Columns, fmt.Sprintf("%d nodes", r.Nodes))
	}
	for _, row := range rows {
		cells := []string{row.name, row.goal}
		for _, r := range results {
			cells = append(cells, row.of(r))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

type row struct {
	name, goal string
	of         func(result) string
}

func figures(results []result) performance.Table {
	perNode := func(n float64, r result) string { return fmt.Sprintf("%.1f", n/float64(r.Nodes)) }
	rows := []row{
		{"measured", "", func(r result) string { return r.Date + ", " + r.Machine }},
		{"the whole upgrade", "18 min", func(r result) string { return r.Wall.Round(time.Second).String() }},
		{"the best possible: pretended times only", "", func(r result) string {
			return fmt.Sprintf("%s (%.2f ×)", r.Best, r.Wall.Seconds()/r.Best.Seconds())
		}},
		{"coordinator's processor, mean during the upgrade", "below 1 core", func(r result) string { return cores(r, "coordinator") }},
		{"coordinator's memory, most", "200 MiB", func(r result) string { return fmt.Sprintf("%.0f MiB", r.Memory["coordinator"]) }},
		{"processor of kube-apiserver, etcd, all agents", "", func(r result) string {
			return cores(r, "kube-apiserver") + ", " + cores(r, "etcd") + ", " + cores(r, "agents")
		}},
		{"memory of kube-apiserver, all agents", "", func(r result) string {
			return fmt.Sprintf("%.0f MiB, %.0f MiB", r.Memory["kube-apiserver"], r.Memory["agents"])
		}},
		{"writes for each node, without events", "15", func(r result) string {
			return perNode(float64(r.Requests.sum(func(_, what string) bool { return counted(what) })), r)
		}},
		{"of these the coordinator's", "", func(r result) string {
			return perNode(float64(r.Requests.sum(func(client, what string) bool { return client == "coordinator" && counted(what) })), r)
		}},
		{"events for each node", "5", func(r result) string {
			return perNode(float64(r.Requests.sum(func(_, what string) bool { return event(what) })), r)
		}},
		{"all requests for each node", "50", func(r result) string {
			return perNode(float64(r.Requests.sum(func(string, string) bool { return true })), r)
		}},
		{"an agent's bytes, received and sent", "", func(r result) string {
			return fmt.Sprintf("%.0f KiB, %.0f KiB", float64(r.In)/1024/float64(r.Nodes), float64(r.Out)/1024/float64(r.Nodes))
		}},
		{"watches of an agent at rest", "3", func(r result) string { return watchesOf(r) }},
		{"idle requests of an agent in an hour, without watches", "6", func(r result) string {
			n := r.IdleRequests.sum(func(client, what string) bool { return isAgent(client) && !strings.HasPrefix(what, "watch ") })
			return fmt.Sprintf("%.1f (in %s)", float64(n)/float64(r.Nodes)/r.Idle.Hours(), r.Idle)
		}},
		{"coordinator's processor, idle", "", func(r result) string { return fmt.Sprintf("%.3f cores", r.IdleCPU["coordinator"]) }},
	}
	for _, one := range []struct{ command, goal string }{
		{"status, before", "1 s"}, {"status, during", "2 s"}, {"plan v1.34.4, before", "2 s"}, {"plan, during", "4 s"},
		{"windows, before", ""}, {"report patch -o html, after", ""},
	} {
		command := one.command
		name, when, _ := strings.Cut(command, ", ")
		rows = append(rows, row{fmt.Sprintf("`kubectl upgrade %s`, %s the upgrade", name, when), one.goal, func(r result) string {
			took := r.Commands[command].Round(10 * time.Millisecond).String()
			if used := r.CommandCPU[command]; used > 0 {
				took += fmt.Sprintf(" (processor: %s)", used.Round(10*time.Millisecond))
			}
			return took
		}})
	}
	return table("", results, rows...)
}

func cores(r result, program string) string {
	return fmt.Sprintf("%.2f cores", r.CPU[program]/r.Wall.Seconds())
}

// counted reports whether a request is a write because of the upgrade.
func counted(what string) bool { return writes(what) && !event(what) && !leads(what) }

func event(what string) bool { return strings.HasSuffix(what, " events") }

// watchesOf returns how many watches there are for each node, of the kinds that agents watch.
func watchesOf(r result) string {
	var parts []string
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(r.Watches)) {
		if n := r.Watches[kind] / float64(r.Nodes); n > 0.9 {
			parts = append(parts, kind)
			sum += n
		}
	}
	return fmt.Sprintf("%.1f: %s", sum, strings.Join(parts, ", "))
}

// requests returns the table of requests by client, verb and kind.
func requests(results []result) performance.Table {
	names := map[string]bool{}
	for _, r := range results {
		for client, byWhat := range r.Requests {
			for what, n := range byWhat {
				if float64(n) >= 0.05*float64(r.Nodes) {
					names[client+": "+what] = true
				}
			}
		}
	}
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		client, what, _ := strings.Cut(name, ": ")
		rows = append(rows, row{name, "", func(r result) string {
			return fmt.Sprintf("%.1f", float64(r.Requests[client][what])/float64(r.Nodes))
		}})
	}
	return table("Requests for each node during the upgrade; those below 0.05 are left out:", results, rows...)
}

func sizes(results []result) performance.Table {
	kib := func(bytes int64, r result) string {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/1024/float64(r.Nodes))
	}
	rows := []row{
		{"etcd, for each node: before kubectl-upgrade", "", func(r result) string { return kib(r.EtcdBefore, r) }},
		{"more with kubectl-upgrade, at rest", "4 KiB", func(r result) string { return kib(r.EtcdManaged-r.EtcdBefore, r) }},
		{"more after the upgrade, with an hour's events", "", func(r result) string { return kib(r.EtcdAfter-r.EtcdBefore, r) }},
	}
	kinds := map[string]bool{}
	for _, r := range results {
		for kind := range r.Objects {
			kinds[kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		rows = append(rows, row{kind + ": number, bytes, the largest", "256 KiB", func(r result) string {
			o := r.Objects[kind]
			return fmt.Sprintf("%d, %.1f KiB, %.1f KiB", o.Number, float64(o.Bytes)/1024, float64(o.Largest)/1024)
		}})
	}
	for _, kind := range []string{"nodes", "pods", "leases", "nodeupgrades", "nodeinventories"} {
		rows = append(rows, row{"sent to all watches of " + kind + " during the upgrade, for each node", "linear", func(r result) string {
			return kib(int64(r.WatchBytes[kind]), r)
		}})
	}
	return table("Sizes:", results, rows...)
}

func restarts(results []result) performance.Table {
	rows := []row{
		{"until it is ready", "", func(r result) string { return r.Restart.Ready.Round(100 * time.Millisecond).String() }},
		{"until all watches are open again, at most", "", func(r result) string { return r.Restart.Watching.Round(100 * time.Millisecond).String() }},
		{"until no agent sends a request", "", func(r result) string { return r.Restart.Quiet.Round(100 * time.Millisecond).String() }},
		{"most requests of agents in a second", "", func(r result) string { return fmt.Sprint(r.Restart.Busiest) }},
		{"requests of an agent until then", "", func(r result) string {
			n := r.Restart.Requests.sum(func(client, _ string) bool { return isAgent(client) })
			return fmt.Sprintf("%.1f", float64(n)/float64(r.Nodes))
		}},
		{"kubelets' renewals: answered, failed", "all answered", func(r result) string { return fmt.Sprintf("%d, %d", r.Restart.Answered, r.Restart.Failed) }},
		{"kubelets' renewals: median, slowest", "", func(r result) string {
			return fmt.Sprintf("%s, %s", r.Restart.Median.Round(time.Millisecond), r.Restart.Slowest.Round(time.Millisecond))
		}},
	}
	names := map[string]bool{}
	for _, r := range results {
		for name, l := range r.Restart.Levels {
			if l.Dispatched > float64(r.Nodes)/2 || l.Rejected > 0 {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, row{"priority level and flow schema `" + name + "`: served, refused, longest wait", "", func(r result) string {
			l := r.Restart.Levels[name]
			return fmt.Sprintf("%.0f, %.0f, up to %s", l.Dispatched, l.Rejected, l.Waited)
		}})
	}
	return table(fmt.Sprintf("The API server is killed, and started again %s later; all agents connect again. From the start of its process:", away), results, rows...)
}
