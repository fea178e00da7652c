package silence

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
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

// isUnknown reports whether an Alertmanager has no silence with that id: it may have forgotten it.
func isUnknown(err error) bool {
	var refused *web.Refusal
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}

// alertmanager calls the API of an Alertmanager.
type alertmanager struct {
	client *http.Client
	url    string
}

// post makes a silence, or changes the one with that id. It returns the id that it has then.
func (a alertmanager) post(ctx context.Context, s posted) (id string, err error) {
	err = a.call(ctx, http.MethodPost, "/api/v2/silences", s, func(answer *web.Answer) error {
		var made struct {
			SilenceID string `json:"silenceID"`
		}
		if err := answer.Value(&made); err != nil || made.SilenceID == "" {
			return cmp.Or(err, web.ErrMalformed)
		}
		id = made.SilenceID
		return nil
	})
	return id, err
}

// end ends a silence. One that has ended already, or is unknown, is no error.
func (a alertmanager) end(ctx context.Context, id string) error {
	path := "/api/v2/silence/" + url.PathEscape(id)
	err := a.call(ctx, http.MethodDelete, path, nil, nil)
	if err == nil || isUnknown(err) {
		return nil
	}
	var now posted
	if look := a.call(ctx, http.MethodGet, path, nil, func(answer *web.Answer) error { return answer.Value(&now) }); look == nil && now.isOver() {
		return nil
	}
	return err
}

// list calls each with our silences that have not ended, of this cluster and of others.
func (a alertmanager) list(ctx context.Context, each func(posted)) error {
	filter := url.QueryEscape(fmt.Sprintf("%s!~%q", ours.Name, ours.Value))
	return a.call(ctx, http.MethodGet, "/api/v2/silences?filter="+filter, nil, func(answer *web.Answer) error {
		return answer.Array(func() error {
			var p posted
			if err := answer.Value(&p); err != nil || p.ID == "" {
				return cmp.Or(err, web.ErrMalformed)
			}
			if p.CreatedBy == creator && !p.isOver() {
				each(p)
			}
			return nil
		})
	})
}

// call sends a request, and has read read the answer, if that is not nil.
func (a alertmanager) call(ctx context.Context, method, path string, body any, read func(*web.Answer) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("preparing a request to %s: %w", a.url, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.url, "/")+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("preparing a request to %s: %w", a.url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	return web.Ask(a.client, request, "an Alertmanager", read)
}
