package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Context is a context of a kubeconfig: where its requests go, and as which of its users.
type Context struct{ Server, Proxy, User string }

// Cluster is a cluster that was chosen.
type Cluster struct {
	Context string            `json:"context"`
	Stage   string            `json:"stage,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Server  string            `json:"server,omitempty"`
	// SameAs is another context, before this one, that leads to the same cluster.
	SameAs string `json:"sameAs,omitempty"`
	// Repeated reports whether both contexts have the same server and user, so that this one is not asked.
	Repeated bool `json:"-"`
	stage    int
	to       Context // without the user
}

// Name is how people name the cluster.
func (c Cluster) Name() string { return c.Context }

// Choice is which clusters are meant.
type Choice struct {
	File     *File           // nil: there is none
	Default  bool            // File is the usual one: it gives the stages of Contexts, and leaves none out
	Contexts []string        // names or patterns; none: all of File
	Stages   []string        // none: all
	Selector labels.Selector // nil: all
}

// CheckPattern returns an error for a pattern that cannot be read.
func CheckPattern(pattern string) error {
	if strings.TrimSpace(pattern) == "" {
		return errors.New("a context is empty")
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q is no pattern: a [ needs its ]", pattern)
	}
	return nil
}

// isPattern reports whether the text may match several names.
func isPattern(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// Matches reports whether the pattern is, or matches, the name. A * stands for any letters, also for
// the / of names such as those of EKS.
func Matches(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	is, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return pattern == name || err == nil && is
}

// Choose returns the clusters that are meant, by stage and name. contexts are those of the kubeconfig.
func (c Choice) Choose(contexts map[string]Context) ([]Cluster, error) {
	names := slices.Sorted(maps.Keys(contexts))
	for _, pattern := range c.Contexts {
		if err := CheckPattern(pattern); err != nil {
			return nil, err
		}
		if err := matchesAny(pattern, names); err != nil {
			return nil, err
		}
	}
	chosen, err := c.staged(contexts, names)
	if err != nil {
		return nil, err
	}
	all := len(chosen)
	chosen = slices.DeleteFunc(chosen, func(one Cluster) bool {
		return len(c.Contexts) > 0 && !slices.ContainsFunc(c.Contexts, func(pattern string) bool { return Matches(pattern, one.Context) })
	})
	switch {
	case len(chosen) == 0 && all > 0:
		return nil, fmt.Errorf("none of the %d clusters that the file, --stage and -l choose is among %s", all, strings.Join(c.Contexts, ", "))
	case len(chosen) == 0:
		return nil, errors.New("no stage has these labels: leave out -l, or see the file")
	}
	slices.SortFunc(chosen, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.Context, b.Context))
	})
	repeated(chosen, contexts)
	return chosen, nil
}

// staged returns the contexts with their stages; without a file, all.
func (c Choice) staged(contexts map[string]Context, names []string) (chosen []Cluster, err error) {
	if c.File == nil {
		switch {
		case len(c.Stages) > 0:
			return nil, errors.New("--stage: stages are in a file of kind Fleet: add --fleet FILE")
		case c.Selector != nil:
			return nil, errors.New("-l chooses stages by their labels, which are in a file of kind Fleet: add --fleet FILE")
		case len(c.Contexts) == 0:
			return nil, errors.New("say which clusters: --contexts 'prod-*', or --fleet FILE with stages")
		}
		for _, name := range names {
			chosen = append(chosen, Cluster{Context: name, Server: contexts[name].Server})
		}
		return chosen, nil
	}
	for _, stage := range c.Stages {
		if !slices.Contains(c.File.StageNames(), stage) {
			hint := "it has " + strings.Join(c.File.StageNames(), ", ")
			if near := request.Nearest(stage, c.File.StageNames()); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			return nil, fmt.Errorf("--stage=%s: the Fleet has no such stage; %s", stage, hint)
		}
	}
	place := c.File.places(names)
	if c.Default && len(c.Contexts) > 0 && len(c.Stages) == 0 && c.Selector == nil {
		for _, name := range names {
			one := Cluster{Context: name, Server: contexts[name].Server, stage: len(c.File.Stages)}
			if at, is := place[name]; is {
				one.Stage, one.Labels, one.stage = c.File.Stages[at].Name, c.File.Stages[at].Labels, at
			}
			chosen = append(chosen, one)
		}
		return chosen, nil
	}
	for i, stage := range c.File.Stages {
		if len(c.Stages) > 0 && !slices.Contains(c.Stages, stage.Name) || c.Selector != nil && !c.Selector.Matches(labels.Set(stage.Labels)) {
			continue
		}
		for j, pattern := range stage.Contexts {
			if err := matchesAny(pattern, names); err != nil {
				return nil, fmt.Errorf("stage %s, stages[%d].contexts[%d]: %w", stage.Name, i, j, err)
			}
		}
		for _, name := range names {
			if at, is := place[name]; is && at == i {
				chosen = append(chosen, Cluster{Context: name, Stage: stage.Name, Labels: stage.Labels, Server: contexts[name].Server, stage: i})
			}
		}
	}
	return chosen, nil
}

// places returns the stage of each context: the one that names it, or else the first that matches.
func (f File) places(names []string) map[string]int {
	place := map[string]int{}
	for i, stage := range slices.Backward(f.Stages) {
		for _, name := range names {
			if slices.ContainsFunc(stage.Contexts, func(pattern string) bool { return Matches(pattern, name) }) {
				place[name] = i
			}
		}
	}
	for i, stage := range f.Stages {
		for _, name := range names {
			if slices.Contains(stage.Contexts, name) {
				place[name] = i
			}
		}
	}
	return place
}

// matchesAny returns an error for a pattern that matches no name.
func matchesAny(pattern string, names []string) error {
	if slices.ContainsFunc(names, func(name string) bool { return Matches(pattern, name) }) {
		return nil
	}
	what := "no context " + pattern
	if isPattern(pattern) {
		what = "no context matches " + pattern
	}
	if len(names) == 0 {
		return errors.New(what + ": the kubeconfig has no contexts")
	}
	if near := nearest(pattern, names); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", what, view.Few(near))
	}
	return fmt.Errorf("%s; there is %s", what, view.Few(names))
}

// nearest returns the names that begin nearly as the pattern does.
func nearest(pattern string, names []string) (near []string) {
	begins := strings.ToLower(pattern[:min(len(pattern), strings.IndexAny(pattern+"*", `*?[\`))])
	var heads []string
	head := func(name string) string { return strings.ToLower(name[:min(len(begins), len(name))]) }
	if !isPattern(pattern) {
		head = strings.ToLower
	}
	if begins == "" {
		return nil
	}
	for _, name := range names {
		heads = append(heads, head(name))
	}
	for {
		found := request.Nearest(begins, heads)
		if found == "" {
			slices.Sort(near)
			return near
		}
		for i, name := range names {
			if heads[i] == found {
				near = append(near, name)
				heads[i] = ""
			}
		}
		heads = slices.Clone(heads)
		for i := range heads {
			if heads[i] == "" {
				heads[i] = "\x00" // like nothing that people write
			}
		}
	}
}

// repeated marks the contexts whose requests are those of one before them.
func repeated(chosen []Cluster, contexts map[string]Context) {
	first := map[Context]string{}
	for i := range chosen {
		to := contexts[chosen[i].Context].normal()
		chosen[i].to = Context{Server: to.Server, Proxy: to.Proxy}
		if before, is := first[to]; is {
			chosen[i].SameAs, chosen[i].Repeated = before, true
			continue
		}
		first[to] = chosen[i].Context
	}
}

// normal returns the context with its server as a client understands it.
func (c Context) normal() Context {
	scheme, rest, _ := strings.Cut(strings.ToLower(c.Server), "://")
	host, folder, _ := strings.Cut(rest, "/")
	if colon := strings.LastIndexByte(host, ':'); scheme == "https" && colon <= strings.LastIndexByte(host, ']') {
		host += ":443"
	}
	c.Server = strings.TrimSuffix(scheme+"://"+host+"/"+folder, "/")
	return c
}
