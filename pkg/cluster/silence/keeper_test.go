package silence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// alertmanager answers as a real one, which test/monitoring calls.
type alertmanager struct {
	sync.Mutex
	silences map[string]*one
	made     int
	requests int
	refuses  bool
}

type one struct {
	ID                 string `json:"id"`
	Matchers           []any  `json:"matchers"`
	StartsAt, EndsAt   time.Time
	CreatedBy, Comment string
	Status             struct {
		State string `json:"state"`
	} `json:"status"`
}

func (a *alertmanager) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Lock()
	defer a.Unlock()
	a.requests++
	code, answer := a.answer(r)
	text, err := json.Marshal(answer)
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: io.NopCloser(bytes.NewReader(text)), Request: r}, err
}

// The tests read and change what it has while the keeper may ask it.

func (a *alertmanager) get(id string) one {
	a.Lock()
	defer a.Unlock()
	return *a.silences[id]
}

func (a *alertmanager) put(s one) {
	a.Lock()
	defer a.Unlock()
	a.silences[s.ID] = &s
}

func (a *alertmanager) asked() int {
	a.Lock()
	defer a.Unlock()
	return a.requests
}

func (a *alertmanager) answer(r *http.Request) (code int, answer any) {
	id := strings.TrimPrefix(r.URL.Path, "/api/v2/silence/")
	switch {
	case a.refuses:
		return http.StatusInternalServerError, "no space left"
	case r.Method == http.MethodPost:
		var s one
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || !s.EndsAt.After(time.Now()) || s.Comment == "" || s.CreatedBy == "" {
			return http.StatusBadRequest, "invalid"
		}
		if before := a.silences[s.ID]; s.ID != "" && before == nil {
			return http.StatusNotFound, "not found"
		} else if before == nil || !before.StartsAt.Equal(s.StartsAt) || before.EndsAt.Before(time.Now()) {
			a.made++
			s.ID = fmt.Sprint("id-", a.made)
			if s.StartsAt.Before(time.Now()) {
				s.StartsAt = time.Now()
			}
		}
		a.silences[s.ID] = &s
		return http.StatusOK, map[string]string{"silenceID": s.ID}
	case r.URL.Path == "/api/v2/silences":
		if filter := r.URL.Query().Get("filter"); filter != `alertname!~"KubectlUpgrade.*"` {
			return http.StatusBadRequest, filter
		}
		list := []one{}
		for _, s := range a.silences {
			s.Status.State = "active"
			if !s.EndsAt.After(time.Now()) {
				s.Status.State = "expired"
			}
			list = append(list, *s)
		}
		return http.StatusOK, list
	case a.silences[id] == nil:
		return http.StatusNotFound, "not found"
	case r.Method == http.MethodDelete && !a.silences[id].EndsAt.After(time.Now()):
		return http.StatusInternalServerError, "already expired"
	case r.Method == http.MethodDelete:
		a.silences[id].EndsAt = time.Now()
		return http.StatusOK, nil
	}
	s := *a.silences[id]
	if s.Status.State = "active"; !s.EndsAt.After(time.Now()) {
		s.Status.State = "expired"
	}
	return http.StatusOK, s
}

func (a *alertmanager) set(refuses bool) {
	a.Lock()
	defer a.Unlock()
	a.refuses = refuses
}

// active returns the ids of the silences that have not ended.
func (a *alertmanager) active() string {
	a.Lock()
	defer a.Unlock()
	var ids []string
	for i := range a.made + 10 {
		if s := a.silences[fmt.Sprint("id-", i)]; s != nil && s.EndsAt.After(time.Now()) {
			ids = append(ids, s.ID)
		}
	}
	for id, s := range a.silences {
		if !strings.HasPrefix(id, "id-") && s.EndsAt.After(time.Now()) {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, " ")
}

// story is a keeper that runs, in a bubble of synctest.
type story struct {
	*testing.T
	*alertmanager
	*silence.Keeper
	kill func()
}

var nodes = []v1alpha1.Silence{{Name: "nodes", URL: "http://alertmanager", Matchers: []v1alpha1.SilenceMatcher{{Name: "instance", Value: "{node}:9100"}, {Name: "cluster", Value: "prod"}}}}

func tell(t *testing.T, test func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, alertmanager: &alertmanager{silences: map[string]*one{}}}
		s.lead()
		test(s)
		s.kill()
	})
}

// lead begins as another leader.
func (s *story) lead() {
	client := func(context.Context, v1alpha1.Silence) (*http.Client, error) {
		return &http.Client{Transport: s.alertmanager}, nil
	}
	s.Keeper = silence.NewKeeper(client, slog.New(slog.DiscardHandler), func() {})
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Keeper.Run(ctx) }()
	s.kill = func() { cancel(); <-done }
}

// work sets who is at work from now on.
func (s *story) work(work ...silence.Work) {
	s.Update(nodes, work, func(o clusterstate.Owner) bool { return o == w1 })
	s.pass(100 * time.Millisecond)
}

func (s *story) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *story) want(active string) {
	s.Helper()
	if got := s.active(); got != active {
		s.Errorf("active: %q, want %q", got, active)
	}
}

func at(bound time.Duration) silence.Work {
	return silence.Work{Owner: w1, Began: time.Now(), Bound: bound}
}

// TestNodeIsDone checks that a silence is short, is extended while the node is at work, and ends at once
// when it is done.
func TestNodeIsDone(t *testing.T) {
	tell(t, func(s *story) {
		work := at(time.Hour)
		s.work(work)
		s.want("id-1")
		text, _ := json.Marshal(s.get("id-1").Matchers)
		if want := `[{"isEqual":false,"isRegex":true,"name":"alertname","value":"KubectlUpgrade.*"},{"isEqual":true,"isRegex":false,"name":"instance","value":"w1:9100"},{"isEqual":true,"isRegex":false,"name":"cluster","value":"prod"}]`; string(text) != want {
			t.Errorf("the matchers are %s\nwant %s", text, want)
		}
		for range 30 {
			s.pass(time.Minute)
			s.want("id-1")
			if left := time.Until(s.get("id-1").EndsAt); left > silence.Lease {
				t.Errorf("it ends in %s", left)
			}
		}
		if s.asked() > 20 {
			t.Errorf("%d requests in half an hour", s.asked())
		}
		s.work()
		s.want("")
		before := s.asked()
		s.pass(time.Hour)
		if s.asked() != before {
			t.Errorf("%d requests while no node is at work", s.asked()-before)
		}
	})
}

// TestBound checks that a silence ends when the node takes too long, also if its agent says again and
// again that it has just begun.
func TestBound(t *testing.T) {
	tell(t, func(s *story) {
		for range 17 {
			s.work(at(18 * time.Minute))
			s.want("id-1")
			s.pass(time.Minute)
		}
		s.kill()
		s.pass(time.Minute)
		s.want("")
		s.lead()
		s.work(silence.Work{Owner: w1, Began: time.Now().Add(-19 * time.Minute), Bound: 18 * time.Minute})
		s.pass(10 * time.Minute)
		s.want("")
		if troubles, _ := s.Troubles(); len(troubles) > 0 {
			t.Errorf("troubles: %+v", troubles)
		}
	})
}

// TestLeaderDies checks that a silence ends by itself when its leader is gone.
func TestLeaderDies(t *testing.T) {
	tell(t, func(s *story) {
		s.work(at(time.Hour))
		s.pass(20 * time.Minute)
		s.kill()
		s.want("id-1")
		s.pass(silence.Lease)
		s.want("")
	})
}

// TestNextLeader checks that the next leader goes on with the silence of a node that is at work, ends that
// of a node that is not, and touches no other: those of people, of another policy and of other clusters.
func TestNextLeader(t *testing.T) {
	tell(t, func(s *story) {
		s.work(at(time.Hour))
		s.kill()
		ours := s.get("id-1")
		for id, change := range map[string]func(*one){
			"person": func(o *one) { o.CreatedBy = "alice" }, "cluster": func(o *one) { o.Comment = strings.Replace(o.Comment, "u1", "u7", 1) }, "matchers": func(o *one) { o.Matchers = o.Matchers[1:] },
		} {
			other := ours
			other.ID, other.EndsAt = id, time.Now().Add(time.Hour)
			change(&other)
			s.put(other)
		}
		s.lead()
		s.work(at(time.Hour))
		s.pass(4 * time.Minute)
		for _, id := range []string{"id-1", "person", "cluster", "matchers"} {
			if !strings.Contains(s.active(), id) {
				t.Errorf("%s has ended: %s", id, s.active())
			}
		}
		if s.made != 1 {
			t.Errorf("%d silences were made", s.made)
		}
		s.kill()
		s.lead()
		s.work()
		if active := s.active(); strings.Contains(active, "id-") || len(strings.Fields(active)) != 3 {
			t.Errorf("active: %s", active)
		}
	})
}

// TestAlertmanagerForgets checks that a silence is made again when an Alertmanager has forgotten it.
func TestAlertmanagerForgets(t *testing.T) {
	tell(t, func(s *story) {
		s.work(at(time.Hour))
		s.Lock()
		clear(s.silences)
		s.Unlock()
		s.pass(silence.Lease)
		s.want("id-2")
	})
}

// TestPolicyChanges checks that a silence which the policy has no more, or has with other matchers, is
// ended.
func TestPolicyChanges(t *testing.T) {
	tell(t, func(s *story) {
		work := []silence.Work{at(time.Hour)}
		s.work(work...)
		other := []v1alpha1.Silence{nodes[0]}
		other[0].Matchers = other[0].Matchers[:1]
		s.Update(other, work, func(clusterstate.Owner) bool { return true })
		s.pass(time.Second)
		s.want("id-2")
		s.Update(nil, work, func(clusterstate.Owner) bool { return true })
		s.pass(time.Second)
		s.want("")
	})
}

// TestTroubles checks that an Alertmanager which refuses is told about once it has refused three times, and
// is tried again; and that a Secret which may not be read is told about at once, with what grants it.
func TestTroubles(t *testing.T) {
	tell(t, func(s *story) {
		s.set(true)
		s.work(at(time.Hour))
		if troubles, allTried := s.Troubles(); len(troubles) > 0 || allTried {
			t.Errorf("after one failure: %+v, %t", troubles, allTried)
		}
		s.pass(time.Minute)
		troubles, _ := s.Troubles()
		if len(troubles) != 1 || !strings.Contains(troubles[0].Message, "http://alertmanager/api/v2/silences answers 500: no space left") {
			t.Fatalf("after a minute: %+v", troubles)
		}
		if reason, message := silence.Message(troubles); reason != silence.ReasonNotSilenced || !strings.HasPrefix(message, "silence nodes: ") {
			t.Errorf("the condition is %s: %s", reason, message)
		}
		s.set(false)
		s.pass(time.Minute)
		s.want("id-1")
		if troubles, allTried := s.Troubles(); len(troubles) > 0 || !allTried {
			t.Errorf("when it answers: %+v, %t", troubles, allTried)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client := func(context.Context, v1alpha1.Silence) (*http.Client, error) {
			return nil, errors.Join(&secret.Problem{Reason: secret.ReasonForbidden, Message: "may not read Secret x", Fix: "kind: Role"})
		}
		k := silence.NewKeeper(client, slog.New(slog.DiscardHandler), func() {})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		k.Update(nodes, nil, func(clusterstate.Owner) bool { return true })
		time.Sleep(time.Second)
		synctest.Wait()
		troubles, allTried := k.Troubles()
		if reason, message := silence.Message(troubles); reason != secret.ReasonForbidden || message != "silence nodes: may not read Secret x\nkind: Role" || !allTried {
			t.Errorf("the condition is %s: %s (%t)", reason, message, allTried)
		}
		cancel()
		<-done
	})
}
