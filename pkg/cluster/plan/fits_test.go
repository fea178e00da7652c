package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/manifests/crd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// schema is the part of a definition that limits values.
type schema struct {
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	MaxLength   *int              `json:"maxLength"`
	MinLength   *int              `json:"minLength"`
	MaxItems    *int              `json:"maxItems"`
	Pattern     string            `json:"pattern"`
	Format      string            `json:"format"`
	Enum        []any             `json:"enum"`
	ListMapKeys []string          `json:"x-kubernetes-list-map-keys"`
}

// definition returns what the API server takes of a kind.
func definition(t *testing.T, plural string) *schema {
	t.Helper()
	text, err := crd.Files.ReadFile("kubectl-upgrade.dev_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec.Versions[0].Schema.OpenAPI
}

// misfits returns the places in a value that are beyond the limits of its definition.
func misfits(at string, s *schema, value any) (places []string) {
	misfit := func(limit string) { places = append(places, at+" has another "+limit) }
	switch value := value.(type) {
	case string:
		switch {
		case s.MaxLength != nil && utf8.RuneCountInString(value) > *s.MaxLength:
			misfit("length")
		case s.MinLength != nil && utf8.RuneCountInString(value) < *s.MinLength:
			misfit("length")
		case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(value):
			misfit("pattern")
		case s.MaxLength == nil && s.Enum == nil && len(value) > 32768:
			misfit("size than etcd takes of many")
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(value)) {
			misfit("value")
		}
	case []any:
		if s.MaxItems != nil && len(value) > *s.MaxItems {
			misfit("number of items")
		}
		keys := map[string]bool{}
		for _, one := range value {
			if s.Items != nil {
				places = append(places, misfits(at+"[]", s.Items, one)...)
			}
			if fields, ok := one.(map[string]any); ok && len(s.ListMapKeys) > 0 {
				key := fmt.Sprint(fields[s.ListMapKeys[0]])
				if keys[key] {
					misfit("key")
				}
				keys[key] = true
			}
		}
	case map[string]any:
		for name, one := range value {
			if property, ok := s.Properties[name]; ok {
				places = append(places, misfits(at+"."+name, &property, one)...)
			}
		}
	}
	return places
}

func misfitsOf(t *testing.T, at string, s *schema, object any) []string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return misfits(at, s, value)
}

// texts sets each text of a struct to the worst that the kind's own definition takes, one after another.
func texts(of reflect.Value, s *schema, at string, yield func(at string)) {
	switch of.Kind() {
	case reflect.Struct:
		if _, time := of.Interface().(metav1.Time); time {
			return
		}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			if property, ok := s.Properties[name]; ok {
				texts(of.Field(i), &property, at+"."+name, yield)
			}
		}
	case reflect.Pointer:
		if of.IsNil() {
			of.Set(reflect.New(of.Type().Elem()))
			defer of.SetZero()
		}
		texts(of.Elem(), s, at, yield)
	case reflect.Slice:
		for i := range of.Len() {
			texts(of.Index(i), s.Items, at+"[]", yield)
		}
	case reflect.String:
		if len(s.Enum) > 0 || s.Format == "date-time" {
			return
		}
		was := of.String()
		for _, worst := range []string{strings.Repeat("ö_<b>\x00", 40000), "a_b", "a" + strings.Repeat("_b", 500), "v1.34.9+" + strings.Repeat("b", 200), strings.Repeat("X", 64), "9", ""} {
			if limit := s.MaxLength; limit != nil && utf8.RuneCountInString(worst) > *limit {
				worst = string([]rune(worst)[:*limit])
			}
			if of.SetString(worst); len(misfits(at, s, worst)) == 0 || s.MaxLength == nil && s.Pattern == "" {
				yield(at)
			}
		}
		of.SetString(was)
	}
}

// TestWhatIsWrittenFits sets each text that an agent, a kubelet or a cluster that is followed writes to the worst
// that the API server takes there. What the coordinator writes then must be within the limits of manifests/crd: an object
// that is refused holds every other node. New fields and new limits are tried by themselves.
func TestWhatIsWrittenFits(t *testing.T) {
	upgrades, records, policies, nodeUpgrades := definition(t, "clusterupgrades"), definition(t, "upgraderecords"), definition(t, "upgradepolicies"), definition(t, "nodeupgrades")
	upgradeStatus, policyStatus, nodeStatus := upgrades.Properties["status"], policies.Properties["status"], nodeUpgrades.Properties["status"]
	written := func(what string, s *script) {
		p := plan.Decide(s.Snapshot, s.now)
		var places []string
		for _, u := range p.Statuses {
			places = append(places, misfitsOf(t, "ClusterUpgrade.status", &upgradeStatus, u.Status)...)
		}
		for _, r := range p.Records {
			places = append(places, misfitsOf(t, "UpgradeRecord", records, r)...)
		}
		for _, n := range p.Nodes {
			if len(n.Message) > 1024 {
				places = append(places, "the message of "+n.Name)
			}
		}
		if s.Policy != nil {
			status := v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{Ran: p.Ran, TakenBack: p.TakenBack, HookTurns: p.HookTurns}}
			status.Gates = []v1alpha1.GateStatus{{Name: "staging", State: v1alpha1.GateOpen, Ran: v1alpha1.FittingRan(s.Policy.Status.Ran)}}
			places = append(places, misfitsOf(t, "UpgradePolicy.status", &policyStatus, status)...)
		}
		slices.Sort(places)
		for _, place := range slices.Compact(places) {
			t.Errorf("%s: %s", what, place)
		}
	}
	for _, story := range []string{
		"agent w2 step=Failed reason=RolledBack", // it is listed as blocked, and what ran has a problem
		"agent w2 step=Draining",
		"agent w2 step=Failed\nupgrade v v1.34.4 retry=u", // u ends now, with a record
		"upgrade back v1.34.2 type=Rollback\nsource v1.34.2 v1.34.4",
	} {
		s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
		var out strings.Builder
		text := "node cp1 v1.34.3 control-plane\nnode w2 v1.34.3\nsource v1.34.4\nhook leave BeforeNode\nhook join AfterNode\n" +
			"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY\nupgrade u v1.34.4\ntick 40\n" + story
		for _, line := range strings.Split(text, "\n") {
			if err := s.run(&out, strings.Fields(line)); err != nil {
				t.Fatal(err)
			}
		}
		status := &s.nodeUpgrade("w2", "u-w2").Status
		setCause(status, v1alpha1.ReasonRolledBack, "a lie")
		texts(reflect.ValueOf(status).Elem(), &nodeStatus, "NodeUpgrade.status", func(at string) { written(story+": "+at, s) })
		for _, worst := range []string{"v1.34.9+" + strings.Repeat("b", 200), strings.Repeat("ö", 60000), "v1.34.9+" + strings.Repeat("b", 50)} {
			was := s.node("w2").Kubelet
			s.node("w2").Kubelet = worst
			written(story+": the kubelet's version", s)
			s.node("w2").Kubelet = was
		}
	}
	s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
	long := strings.Repeat("ö", 5000)
	one := v1alpha1.RanVersion{Version: "v1.34.4", Upgrade: v1alpha1.UpgradeReference{Name: long, UID: long}, Problem: long, Blocked: long}
	for range 20 {
		one.Digests = append(one.Digests, v1alpha1.ImageDigest{Architecture: "amd64", Digest: v1alpha1.Digest(long)}, v1alpha1.ImageDigest{Architecture: v1alpha1.Architecture(long)})
	}
	s.Policy.Status.Ran = slices.Repeat([]v1alpha1.RanVersion{one}, 20)
	for i := range s.Policy.Status.Ran {
		if s.Policy.Status.Ran[i].Version = fmt.Sprintf("v1.34.%d", i); i%2 == 0 {
			s.Policy.Status.Ran[i].Version = long
		}
	}
	fits := v1alpha1.UpgradePolicyStatus{Gates: []v1alpha1.GateStatus{{Name: "staging", State: v1alpha1.GateOpen, Ran: v1alpha1.FittingRan(s.Policy.Status.Ran)}}}
	for _, place := range misfitsOf(t, "UpgradePolicy.status", &policyStatus, fits) {
		t.Errorf("what a followed cluster ran: %s", place)
	}
	if got := len(fits.Gates[0].Ran); got != 8 {
		t.Errorf("%d versions are left of 20, want 8", got)
	}
}
