package fleet

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// contexts are those of a kubeconfig, with a server each.
func contexts(names ...string) map[string]Context {
	all := map[string]Context{}
	for _, name := range names {
		all[name] = Context{Server: "https://" + strings.ReplaceAll(name, "/", "-") + ":6443"}
	}
	return all
}

func TestChoose(t *testing.T) {
	there := contexts("prod-2", "prod-1", "dev-1", "arn:aws:eks:eu-1:123:cluster/prod", "canary", "odd[1]")
	file := &File{Stages: []Stage{
		{Name: "dev", Contexts: []string{"dev-*", "canary"}},
		{Name: "prod", Contexts: []string{"*prod*", "ca*"}, Labels: map[string]string{"region": "eu"}},
		{Name: "last", Contexts: []string{"prod-1", "prod-*"}},
	}}
	eu := labels.SelectorFromSet(labels.Set{"region": "eu"})
	for name, test := range map[string]struct {
		choice Choice
		want   string
	}{
		"a pattern":              {Choice{Contexts: []string{"prod-*"}}, "prod-1 prod-2"},
		"names and patterns":     {Choice{Contexts: []string{"prod-2", "dev-?", "prod-2"}}, "dev-1 prod-2"},
		"a * stands for a / too": {Choice{Contexts: []string{"arn:*"}}, "arn:aws:eks:eu-1:123:cluster/prod"},
		"a name with a [":        {Choice{Contexts: []string{"odd[1]"}}, "odd[1]"},
		"a class":                {Choice{Contexts: []string{"prod-[12]"}}, "prod-1 prod-2"},
		"stages in order, the first that matches, but a name counts more": {Choice{File: file}, "dev/canary dev/dev-1 prod/arn:aws:eks:eu-1:123:cluster/prod prod/prod-2 last/prod-1"},
		"a stage":                                {Choice{File: file, Stages: []string{"last", "dev"}}, "dev/canary dev/dev-1 last/prod-1"},
		"labels":                                 {Choice{File: file, Selector: eu}, "prod/arn:aws:eks:eu-1:123:cluster/prod prod/prod-2"},
		"a stage and a pattern":                  {Choice{File: file, Contexts: []string{"dev*"}}, "dev/dev-1"},
		"nothing":                                {Choice{}, "error: say which clusters: --contexts 'prod-*', or --fleet FILE with stages"},
		"a pattern without a match":              {Choice{Contexts: []string{"prd-*"}}, "error: no context matches prd-*; did you mean prod-1, prod-2?"},
		"a name that is nearly one":              {Choice{Contexts: []string{"canari"}}, "error: no context canari; did you mean canary?"},
		"a name like none":                       {Choice{Contexts: []string{"zebra"}}, "error: no context zebra; there is arn:aws:eks:eu-1:123:cluster/prod, canary, dev-1 and 3 more"},
		"a pattern that cannot be read":          {Choice{Contexts: []string{"["}}, `error: "[" is no pattern: a [ needs its ]`},
		"a stage that is not there":              {Choice{File: file, Stages: []string{"prood"}}, "error: --stage=prood: the Fleet has no such stage; did you mean prod?"},
		"a stage without a file":                 {Choice{Contexts: []string{"*"}, Stages: []string{"dev"}}, "error: --stage: stages are in a file of kind Fleet: add --fleet FILE"},
		"labels without a file":                  {Choice{Contexts: []string{"*"}, Selector: eu}, "error: -l chooses stages by their labels, which are in a file of kind Fleet: add --fleet FILE"},
		"labels that no stage has":               {Choice{File: file, Selector: labels.SelectorFromSet(labels.Set{"region": "us"})}, "error: no stage has these labels: leave out -l, or see the file"},
		"a cluster that is in no stage":          {Choice{File: file, Contexts: []string{"odd[1]"}}, "error: none of the 5 clusters that the file, --stage and -l choose is among odd[1]"},
		"contexts, with the usual file":          {Choice{File: file, Default: true, Contexts: []string{"odd[1]", "dev-1"}}, "dev/dev-1 odd[1]"},
		"a stage of the usual file":              {Choice{File: file, Default: true, Contexts: []string{"odd[1]", "dev-1"}, Stages: []string{"dev"}}, "dev/dev-1"},
		"a pattern of a file without a match":    {Choice{File: &File{Stages: []Stage{{Name: "dev", Contexts: []string{"dev-*", "deb-*"}}}}}, "error: stage dev, stages[0].contexts[1]: no context matches deb-*; did you mean dev-1?"},
		"but not of a stage that was not chosen": {Choice{File: &File{Stages: []Stage{{Name: "x", Contexts: []string{"x"}}, {Name: "dev", Contexts: []string{"dev-*"}}}}, Stages: []string{"dev"}}, "dev/dev-1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chosen(test.choice.Choose(there)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if got := chosen(Choice{Contexts: []string{"a"}}.Choose(nil)); got != "error: no context a: the kubeconfig has no contexts" {
		t.Error(got)
	}
}

// chosen returns the clusters in one line.
func chosen(all []Cluster, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var words []string
	for _, c := range all {
		word := strings.TrimPrefix(c.Stage+"/"+c.Context, "/")
		if c.SameAs != "" {
			word += fmt.Sprintf("=%s,%t", c.SameAs, c.Repeated)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestOneServerIsAskedOnce checks that the second context of a server is not asked again, but one of another
// user, or that goes through another proxy, is: it may be the one that works.
func TestOneServerIsAskedOnce(t *testing.T) {
	there := map[string]Context{
		"a": {Server: "https://One.example"}, "b": {Server: "https://one.example:443/"}, "c": {Server: "https://one.example:6443"},
		"a2": {Server: "https://one.example", User: "other"}, "d": {Server: "https://one.example", Proxy: "http://proxy"}, "e": {Server: "https://[::1]"}, "f": {Server: "https://[::1]:443"},
		"g": {Server: "https://one.example/k8s/clusters/c-1"}, "h": {Server: "https://one.example/k8s/clusters/c-2"},
	}
	if got, want := chosen(Choice{Contexts: []string{"*"}}.Choose(there)), "a a2 b=a,true c d e f=e,true g h"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
