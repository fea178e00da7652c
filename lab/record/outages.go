package record

import (
	"cmp"
	"slices"
	"time"
)

// Outage is the time in which a node was cordoned.
type Outage struct {
	Node                 string
	Cordoned, Uncordoned time.Time
}

// Length returns how long the node was cordoned.
func (o Outage) Length() time.Duration { return o.Uncordoned.Sub(o.Cordoned) }

// Outages returns when nodes were cordoned, in the order in which they were. One that
// is still there at the end is left out.
func Outages(moments []Moment) ([]Outage, error) {
	var outages []Outage
	since := map[string]time.Time{}
	err := Walk(moments, func(m Moment, s State) {
		name := m.Object.GetName()
		node, there := s.Nodes[name]
		if m.Resource != "nodes" || !there {
			return
		}
		began, cordoned := since[name]
		switch {
		case node.Cordoned && !cordoned:
			since[name] = m.Seen
		case !node.Cordoned && cordoned:
			outages = append(outages, Outage{name, began, m.Seen})
			delete(since, name)
		}
	})
	slices.SortFunc(outages, func(a, b Outage) int { return cmp.Compare(a.Cordoned.UnixNano(), b.Cordoned.UnixNano()) })
	return outages, err
}
