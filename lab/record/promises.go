package record

import (
	"fmt"
	"strings"
	"time"
)

// Broken is a promise that was broken.
type Broken struct {
	Seen    time.Time // when this program heard of it
	Message string
}

func (b Broken) String() string { return b.Message }

// broken returns a promise that was broken at that moment.
func (m Moment) broken(format string, args ...any) Broken {
	return Broken{m.Seen, fmt.Sprintf("revision %d: ", m.Revision) + fmt.Sprintf(format, args...)}
}

// Promises checks docs/architecture.md's promises 1 and 4 at every moment: at most
// slots nodes are cordoned or NotReady, each of them holds a slot, and at most one
// of them is a control-plane node. The cordons of nodes in foreign were made by
// another client.
func Promises(moments []Moment, slots int, foreign ...string) ([]Broken, error) {
	var broken []Broken
	err := Walk(moments, func(m Moment, s State) {
		masters, down := 0, s.Down(foreign...)
		for _, name := range down {
			node := s.Nodes[name]
			if node.ControlPlane {
				masters++
			}
			if !s.Holds(name) {
				broken = append(broken, m.broken("%s is down (cordoned %t, Ready %t) and holds no slot", name, node.Cordoned, node.Ready))
			}
		}
		if len(down) > slots {
			broken = append(broken, m.broken("%d nodes down at once: %s", len(down), strings.Join(down, ", ")))
		}
		if masters > 1 {
			broken = append(broken, m.broken("%d control-plane nodes down at once", masters))
		}
	})
	return broken, err
}

// BootIDs returns the boot ids that each node had, in order.
func BootIDs(moments []Moment) (map[string][]string, error) {
	boots := map[string][]string{}
	err := Walk(moments, func(_ Moment, s State) {
		for name, node := range s.Nodes {
			if ids := boots[name]; len(ids) == 0 || ids[len(ids)-1] != node.BootID {
				boots[name] = append(ids, node.BootID)
			}
		}
	})
	return boots, err
}

// Disturbed returns what was done to nodes, as text: cordons, boots and slots
// taken. It is empty if nothing was done.
func Disturbed(moments []Moment) ([]string, error) {
	var done []string
	seen := map[string]Node{}
	err := Walk(moments, func(m Moment, s State) {
		for name, node := range s.Nodes {
			before, known := seen[name]
			seen[name] = node
			if known && node.OurCordon && !before.OurCordon {
				done = append(done, fmt.Sprintf("revision %d: %s was cordoned by us", m.Revision, name))
			}
			if known && node.BootID != before.BootID {
				done = append(done, fmt.Sprintf("revision %d: %s was rebooted", m.Revision, name))
			}
		}
		for slot, holder := range s.Holders {
			done = append(done, fmt.Sprintf("revision %d: %s is held by %s", m.Revision, slot, holder))
		}
	})
	return done, err
}

// FirstDown returns the node that was cordoned or NotReady before any other was; the
// cordons of nodes in foreign do not count.
func FirstDown(moments []Moment, foreign ...string) (string, error) {
	first := ""
	err := Walk(moments, func(_ Moment, s State) {
		for name, node := range s.Nodes {
			if first == "" && node.down(foreign) {
				first = name
			}
		}
	})
	return first, err
}
