package record

import "slices"

// InOrder checks that a node begins only when every node of the earlier groups
// runs the version and is back in service.
func InOrder(moments []Moment, version string, groups ...[]string) ([]Broken, error) {
	begun, err := Beginnings(moments)
	if err != nil {
		return nil, err
	}
	var broken []Broken
	err = Walk(moments, func(m Moment, s State) {
		for len(begun) > 0 && begun[0].Revision == m.Revision {
			b := begun[0]
			begun = begun[1:]
			group := slices.IndexFunc(groups, func(g []string) bool { return slices.Contains(g, b.Node) })
			for _, name := range slices.Concat(groups[:max(group, 0)]...) {
				if !s.done(name, version) {
					broken = append(broken, m.broken("%s of %s began before %s was done", b.What, b.Node, name))
				}
			}
		}
	})
	return broken, err
}

// done is a node that runs the version and takes pods again.
func (s State) done(name, version string) bool {
	node := s.Nodes[name]
	return node.Kubelet == version && node.Ready && !node.OurCordon && !s.Holds(name)
}

// FirstCordons returns the nodes that we cordoned, in the order of their first
// cordon.
func FirstCordons(moments []Moment) ([]string, error) {
	begun, err := Beginnings(moments)
	var order []string
	for _, b := range begun {
		if b.What == Cordon && !slices.Contains(order, b.Node) {
			order = append(order, b.Node)
		}
	}
	return order, err
}

// Together returns the sets of two or more nodes that were down at the same time,
// each once.
func Together(moments []Moment) ([][]string, error) {
	var sets [][]string
	err := Walk(moments, func(_ Moment, s State) {
		down := s.Down()
		if len(down) > 1 && !slices.ContainsFunc(sets, func(known []string) bool { return slices.Equal(known, down) }) {
			sets = append(sets, down)
		}
	})
	return sets, err
}
