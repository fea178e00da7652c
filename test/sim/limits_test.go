package sim

import (
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/manifests/crd"
)

// limits are those of one value, as a custom resource definition has them. Of its rules in CEL, only
// patterns count.
type limits struct {
	Enum                 []any              `json:"enum"`
	Pattern              string             `json:"pattern"`
	MinLength            int                `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Minimum, Maximum     *float64           `json:",omitempty"`
	MaxItems             *int               `json:"maxItems"`
	MaxProperties        *int               `json:"maxProperties"`
	Required             []string           `json:"required"`
	Properties           map[string]*limits `json:"properties"`
	AdditionalProperties *limits            `json:"additionalProperties"`
	Items                *limits            `json:"items"`
	Keys                 []string           `json:"x-kubernetes-list-map-keys"`
	Rules                []struct {
		Rule string `json:"rule"`
	} `json:"x-kubernetes-validations"`

	patterns []*regexp.Regexp
}

// limitsOf has the limits of our kinds, by resource.
var limitsOf = sync.OnceValue(func() map[string]*limits {
	all := map[string]*limits{}
	names, err := fs.Glob(crd.Files, "*.yaml")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		var definition struct {
			Spec struct {
				Names    struct{ Plural string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema *limits }
				}
			}
		}
		data, err := crd.Files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		if err := yaml.Unmarshal(data, &definition); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		all[definition.Spec.Names.Plural] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema.compiled()
	}
	return all
})

var matchesRule = regexp.MustCompile(`^self\.matches\('([^']*)'\)$`)

func (l *limits) compiled() *limits {
	if l == nil {
		return nil
	}
	if l.Pattern != "" {
		l.patterns = append(l.patterns, regexp.MustCompile(l.Pattern))
	}
	for _, r := range l.Rules {
		if found := matchesRule.FindStringSubmatch(r.Rule); found != nil {
			l.patterns = append(l.patterns, regexp.MustCompile(strings.ReplaceAll(found[1], `\\`, `\`)))
		}
	}
	l.Items.compiled()
	l.AdditionalProperties.compiled()
	for _, one := range l.Properties {
		one.compiled()
	}
	return l
}

// validate refuses a version of an object that does not fit, as the API server does: what has not
// changed since the version before it is not refused.
func validate(k key, before *stored, after tree) error {
	l := limitsOf()[k.Resource]
	if l == nil {
		return nil
	}
	var was any
	if before != nil {
		was = before.tree
	}
	refused := l.check("", was, after)
	if len(refused) == 0 {
		return nil
	}
	slices.Sort(refused)
	var list field.ErrorList
	for _, text := range refused {
		path, why, _ := strings.Cut(text, ": ")
		list = append(list, field.Invalid(field.NewPath(strings.TrimPrefix(path, ".")), "", why))
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: groupResource(k.Resource).Group, Kind: strings.TrimSuffix(listOf[k.Resource].kind, "List")}, k.Name, list)
}

// check returns what does not fit, each with its path.
func (l *limits) check(path string, was, is any) (refused []string) {
	if l == nil || is == nil || path != "" && reflect.DeepEqual(was, is) {
		return nil
	}
	refuse := func(format string, args ...any) {
		refused = append(refused, path+": "+fmt.Sprintf(format, args...))
	}
	if len(l.Enum) > 0 && !slices.Contains(l.Enum, is) {
		refuse("%v is none of %v", is, l.Enum)
	}
	switch v := is.(type) {
	case string:
		if n := utf8.RuneCountInString(v); n < l.MinLength || l.MaxLength != nil && n > *l.MaxLength {
			refuse("has %d characters", n)
		}
		for _, pattern := range l.patterns {
			if !pattern.MatchString(v) {
				refuse("%.40q does not match %s", v, pattern)
			}
		}
	case float64:
		if l.Minimum != nil && v < *l.Minimum || l.Maximum != nil && v > *l.Maximum {
			refuse("is %v", v)
		}
	case []any:
		if l.MaxItems != nil && len(v) > *l.MaxItems {
			refuse("has %d items", len(v))
		}
		for i, item := range v {
			refused = append(refused, l.Items.check(fmt.Sprintf("%s[%d]", path, i), l.formerItem(was, item), item)...)
		}
	case tree:
		refused = append(refused, l.checkTree(path, was, v)...)
	}
	return refused
}

// formerItem returns the item of a list before, where items have keys.
func (l *limits) formerItem(was, item any) any {
	former, _ := was.([]any)
	for _, one := range former {
		if len(l.Keys) > 0 && !slices.ContainsFunc(l.Keys, func(k string) bool { return one.(tree)[k] != item.(tree)[k] }) {
			return one
		}
	}
	return nil
}

func (l *limits) checkTree(path string, was any, is tree) (refused []string) {
	former, _ := was.(tree)
	for _, name := range l.Required {
		if _, there := is[name]; !there {
			refused = append(refused, path+"."+name+": is required")
		}
	}
	if l.MaxProperties != nil && len(is) > *l.MaxProperties {
		refused = append(refused, fmt.Sprintf("%s: has %d properties", path, len(is)))
	}
	for name, value := range is {
		one := l.Properties[name]
		if one == nil {
			one = l.AdditionalProperties
		}
		refused = append(refused, one.check(path+"."+name, former[name], value)...)
	}
	return refused
}

// checkRefused checks that no program writes what the API server refuses: it would never be stored, and
// what the program waits for would never come.
func (w *world) checkRefused(by string, r request, err error) {
	if apierrors.IsInvalid(err) {
		w.broken("text", "%s writes %s, and that is refused: %v", by, r.key, err)
	}
}

// TestLimits checks what is refused.
func TestLimits(t *testing.T) {
	k := key{Resource: "nodeupgrades", Name: "w1"}
	long := strings.Repeat("x", 40000)
	status := func(name string, value any) tree { return tree{"status": tree{name: value}} }
	up := func(reason, message string) []any {
		return []any{tree{"type": "UpToDate", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": reason, "message": message}}
	}
	steps := make([]any, 65)
	for i := range steps {
		steps[i] = tree{"step": "Idle", "startTime": "2026-01-01T00:00:00.000000Z"}
	}
	for name, test := range map[string]struct {
		before, after tree
		want          string
	}{
		"a step":                        {nil, status("step", "Idle"), ""},
		"a step with a dash":            {nil, status("step", "a_b"), "status.step"},
		"a reason as others write them": {nil, status("conditions", up("a_b", "")), ""},
		"a reason with a space":         {nil, status("conditions", up("a b", "")), "status.conditions[0].reason"},
		"a long message":                {nil, status("conditions", up("A", long)), "status.conditions[0].message"},
		"which was there before":        {status("conditions", up("A", long)), tree{"status": tree{"conditions": up("A", long), "step": "Idle"}}, ""},
		"which was another":             {status("conditions", up("A", long)), status("conditions", up("A", long+"x")), "status.conditions[0].message"},
		"too many items":                {nil, status("steps", steps), "status.steps"},
		"a method that is none":         {nil, status("method", "Hope"), "status.method"},
		"a reference without a UID":     {nil, status("upgrade", tree{"name": "u"}), "status.upgrade.uid"},
	} {
		var before *stored
		if test.before != nil {
			before = &stored{tree: test.before}
		}
		got := ""
		if err := validate(k, before, test.after); err != nil {
			got = err.Error()
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q is refused, want %q", name, got, test.want)
		}
	}
	if got := slices.Sorted(maps.Keys(limitsOf())); len(got) != 7 {
		t.Errorf("there are limits of %v", got)
	}
}
