package migrate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// alertsGate is the name of the gate that asks for alerts as kured does, and notices is that of the
// notice which takes the place of kured's messages.
const (
	alertsGate = "kured-alerts"
	notices    = "kured"
)

// addressSecret is the Secret that a person creates with the address of kured's messages.
const addressSecret = "kured-notify-url" //nolint:gosec // a name

// gateURL is what the API accepts as the address of a gate. Its first group is the host.
var gateURL = regexp.MustCompile(`^https?://([^/?#@]+)(/[^?#]*)?$`)

// maxQuery is the API's limit for a query.
const maxQuery = 4096

// prometheus makes the gate that asks for the alerts which hold kured.
func (k *kured) prometheus(row *Row, s setting) {
	if s.value() == "" {
		row.Meaning = NotNeeded
		return
	}
	query, err := k.alertsQuery()
	parts := gateURL.FindStringSubmatch(s.value())
	switch {
	case parts == nil:
		row.Meaning, row.Note = None, "a gate's address has no user and no query: write the gate by hand, with prometheus.tokenSecretRef (docs/gates.md)"
		return
	case err != nil:
		row.Meaning, row.Note = None, "write the gate by hand (docs/gates.md): "+err.Error()
		return
	}
	row.Value, row.Becomes = s.value(), fmt.Sprintf("gate %s of the UpgradePolicy: %s has to be empty", alertsGate, query)
	row.Note = "as with kured, no node begins while it cannot be asked; the coordinator asks it"
	if !strings.ContainsAny(parts[1], ".[") {
		row.Meaning, row.Note = Nearest, "no node begins while it cannot be asked, and the coordinator runs in another namespace: write the host as SERVICE.NAMESPACE"
	}
	k.Policy.Gates = append(k.Policy.Gates, v1alpha1.Gate{
		Name:           alertsGate,
		TimeoutSeconds: 5, // the default, as --undo compares with what the API server stored
		Prometheus:     &v1alpha1.PrometheusGate{URL: s.value(), Query: query, Expect: v1alpha1.ExpectEmpty},
	})
}

// alertsQuery returns the alerts that hold kured, in PromQL.
func (k *kured) alertsQuery() (string, error) {
	var matchers []string
	for _, flag := range []string{"alert-firing-only", "alert-filter-regexp", "alert-filter-match-only"} {
		if s := k.settings[flag]; s.unread != "" || s.problem != "" {
			return "", fmt.Errorf("the value of --%s is not known", flag)
		}
	}
	if k.settings["alert-firing-only"].isTrue() {
		matchers = append(matchers, `alertstate="firing"`)
	}
	if filter := k.settings["alert-filter-regexp"].value(); filter != "" {
		if _, err := regexp.Compile(filter); err != nil {
			return "", fmt.Errorf("--alert-filter-regexp is no regular expression: kured does not start with it")
		}
		matchers = append(matchers, "alertname"+k.filterOperator()+strconv.Quote(anchored(filter)))
	}
	query := "ALERTS"
	if matchers != nil {
		query += "{" + strings.Join(matchers, ",") + "}"
	}
	if len(query) > maxQuery {
		return "", fmt.Errorf("the query would be longer than %d bytes", maxQuery)
	}
	return query, nil
}

// filterOperator returns the operator of the filter: kured leaves out what matches, or everything else.
func (k *kured) filterOperator() string {
	if k.settings["alert-filter-match-only"].isTrue() {
		return "=~"
	}
	return "!~"
}

// anchored returns an expression that matches a whole name if filter matches a part of it: PromQL's
// expressions always match the whole.
func anchored(filter string) string {
	inner, begins := strings.CutPrefix(filter, "^")
	inner, ends := strings.CutSuffix(inner, "$")
	if begins && ends && !strings.ContainsAny(inner, `|\`) {
		return inner
	}
	return ".*(?:" + filter + ").*"
}

// partOfAlerts is a flag that becomes a part of the gate's query.
func (k *kured) partOfAlerts(row *Row, s setting) {
	switch prometheus := k.settings["prometheus-url"]; {
	case !s.set():
		row.Meaning = NotNeeded
	case prometheus.value() == "" && prometheus.unread == "":
		row.Meaning, row.Note = NotNeeded, "kured does not use it without --prometheus-url"
	case len(k.Policy.Gates) == 0:
		row.Meaning, row.Note = None, "see --prometheus-url"
	case s.value() == "" || s.value() == "false":
		row.Meaning = NotNeeded
	default:
		row.Becomes = "a part of the query of gate " + alertsGate
	}
}

// notifyURL makes the notice that takes the place of kured's messages.
func (k *kured) notifyURL(row *Row, s setting) {
	k.notice(row, s, "as it is")
}

// slackHook is a former form of the address of kured's messages.
func (k *kured) slackHook(row *Row, s setting) {
	if other := k.settings["notify-url"]; other.value() != "" || other.unread != "" {
		row.Meaning, row.Note = NotNeeded, "kured does not use it either, because of --notify-url"
		return
	}
	k.notice(row, s, "as slack://A/B/C, of https://hooks.slack.com/services/A/B/C")
}

func (k *kured) notice(row *Row, s setting, how string) {
	if s.value() == "" && s.unread == "" {
		row.Meaning = NotNeeded
		return
	}
	row.Meaning, row.Becomes = Nearest, fmt.Sprintf("notice %s of the UpgradePolicy", notices)
	row.Note = fmt.Sprintf("an upgrade is told as a whole, with nodes that fail, and not each node's drain and reboot. Create the Secret with the address, %s, from a file: `kubectl -n %s create secret generic %s --from-file=url=FILE`, and let the coordinator read it (docs/gates.md)", how, v1alpha1.Namespace, addressSecret)
	k.Policy.Notices = append(k.Policy.Notices, v1alpha1.Notice{Name: notices, URLSecretRef: v1alpha1.SecretKeyReference{Name: addressSecret}})
}

// messageTemplate is the text of one of kured's messages about a node.
func (k *kured) messageTemplate(row *Row, s setting) {
	if !s.set() {
		row.Meaning = NotNeeded
		return
	}
	row.Meaning, row.Becomes, row.Note = Nearest, "notices[].template", "write it anew: one text for all events, such as \"staging: {{.Text}}\"; see --notify-url"
}

// slackDetail is who writes kured's messages, and where.
func (k *kured) slackDetail(row *Row, s setting) {
	if !s.set() {
		row.Meaning = NotNeeded
		return
	}
	row.Meaning, row.Becomes, row.Note = Nearest, "the address in the Secret", "?botname=NAME is the name; a webhook has its own channel"
}
