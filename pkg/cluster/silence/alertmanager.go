package silence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// creator is who makes our silences.
const creator = "kubectl-upgrade"

// posted is a silence as Alertmanager's API has it.
// https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
type posted struct {
	ID        string    `json:"id,omitempty"`
	Matchers  []matcher `json:"matchers"`
	StartsAt  time.Time `json:"startsAt"`
	EndsAt    time.Time `json:"endsAt"`
	CreatedBy string    `json:"createdBy"`
	Comment   string    `json:"comment"`
	Status    *status   `json:"status,omitempty"`
}

type matcher struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	IsRegex bool   `json:"isRegex"`
	IsEqual bool   `json:"isEqual"`
}

// status is set in answers.
type status struct {
	State string `json:"state"`
}

func (p *posted) isOver() bool { return p.Status != nil && p.Status.State == "expired" }

// ours is the matcher that leaves out our own alerts.
var ours = matcher{Name: "alertname", Value: "KubectlUpgrade.*", IsRegex: true}

// matchers returns those of a silence for a node.
func matchers(s *v1alpha1.Silence, node string) []matcher {
	list := []matcher{ours}
	for _, m := range s.Matchers {
		list = append(list, matcher{Name: m.Name, Value: m.For(node), IsEqual: true})
	}
	return list
}

// refusal is an answer other than 200.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

// isUnknown reports whether an Alertmanager has no silence with that id: it may have forgotten it.
func isUnknown(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.code == http.StatusNotFound
}

// alertmanager calls the API of an Alertmanager.
type alertmanager struct {
	client *http.Client
	url    string
}

// post makes a silence, or changes the one with that id. It returns the id that it has then.
func (a alertmanager) post(ctx context.Context, s posted) (id string, err error) {
	var answer struct {
		SilenceID string `json:"silenceID"`
	}
	if err := a.call(ctx, http.MethodPost, "/api/v2/silences", s, &answer); err != nil {
		return "", err
	}
	if answer.SilenceID == "" {
		return "", fmt.Errorf("%s does not answer as an Alertmanager", a.url)
	}
	return answer.SilenceID, nil
}

// end ends a silence. One that has ended already, or is unknown, is no error.
func (a alertmanager) end(ctx context.Context, id string) error {
	err := a.call(ctx, http.MethodDelete, "/api/v2/silence/"+url.PathEscape(id), nil, nil)
	if err == nil || isUnknown(err) {
		return nil
	}
	var now posted
	if look := a.call(ctx, http.MethodGet, "/api/v2/silence/"+url.PathEscape(id), nil, &now); look == nil && now.isOver() {
		return nil
	}
	return err
}

// list returns our silences that have not ended, of this cluster and of others.
func (a alertmanager) list(ctx context.Context) ([]posted, error) {
	filter := url.QueryEscape(fmt.Sprintf("%s!~%q", ours.Name, ours.Value))
	var all []posted
	if err := a.call(ctx, http.MethodGet, "/api/v2/silences?filter="+filter, nil, &all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p posted) bool { return p.CreatedBy != creator || p.isOver() }), nil
}

// call sends a request, and reads the answer into into, if that is not nil.
func (a alertmanager) call(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("preparing a request to %s: %w", a.url, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.url, "/")+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("preparing a request to %s: %w", a.url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return err //nolint:wrapcheck // it names the address
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case response.StatusCode != http.StatusOK:
		return &refusal{response.StatusCode, fmt.Sprintf("%s answers %s: %.200q", a.url, response.Status, strings.TrimSpace(string(answer)))}
	case err != nil:
		return fmt.Errorf("reading the answer of %s: %w", a.url, err)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s does not answer as an Alertmanager", a.url)
	}
	return nil
}
