package metricsserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// keepFor is how long an answer of the API server is kept.
	keepFor = time.Minute
	// maxKept is how many answers are kept of each kind.
	maxKept = 256
	// reviewTimeout is how long a review may take.
	reviewTimeout = 10 * time.Second
)

// The reviews that tokens may cause. A token that was accepted before, or that comes on a
// connection on which one was, has a budget that no other token can use up. The others have one
// for each client, and one for all clients.
const (
	acceptedRate, acceptedBurst = 4, 16
	clientRate, clientBurst     = 1, 5
	allRate, allBurst           = 10, 20
	// maxClients is how many clients have a budget of their own.
	maxClients = 1024
)

// Reviewer asks the API server who a client is and whether it may read a path.
type Reviewer struct {
	kube kubernetes.Interface
	log  *slog.Logger
	now  func() time.Time

	mutex    sync.Mutex
	accepted map[question]answer // also those that are too old, as their tokens have a budget of their own
	refused  map[question]answer
	again    *rate.Limiter // for tokens in accepted, and on trusted connections
	all      *rate.Limiter // for all others
	clients  map[netip.Prefix]*rate.Limiter
}

// origin is where a token comes from.
type origin struct {
	client  netip.Prefix
	trusted bool // a token was accepted on the connection, and the last one was not refused
}

type question struct {
	token [sha256.Size]byte
	path  string
}

// answer is the HTTP status of the question: 200, 401 or 403.
type answer struct {
	status int
	user   string
	until  time.Time
}

// errBudget means that too many tokens were sent that were not accepted before.
var errBudget = errors.New("too many unknown tokens were sent: try again in a few seconds")

// NewReviewer returns a Reviewer with a client of its own.
func NewReviewer(access *rest.Config, log *slog.Logger) (*Reviewer, error) {
	access = rest.CopyConfig(access)
	access.QPS = -1 // the Reviewer's own budgets limit the requests
	kube, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews: %w", err)
	}
	return newReviewer(kube, log), nil
}

func newReviewer(kube kubernetes.Interface, log *slog.Logger) *Reviewer {
	return &Reviewer{
		kube: kube, log: log, now: time.Now,
		accepted: map[question]answer{}, refused: map[question]answer{},
		again: rate.NewLimiter(acceptedRate, acceptedBurst), all: rate.NewLimiter(allRate, allBurst),
		clients: map[netip.Prefix]*rate.Limiter{},
	}
}

// protect returns a handler that passes on the requests of clients that may get the path.
func (r *Reviewer) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		token, found := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
		if token = strings.TrimSpace(token); !found || token == "" {
			http.Error(w, "Unauthorized: send a bearer token", http.StatusUnauthorized)
			return
		}
		from := origin{clientOf(request.RemoteAddr), trusted(request.Context())}
		said, err := r.ask(request.Context(), from, question{sha256.Sum256([]byte(token)), request.URL.Path}, token)
		switch {
		case errors.Is(err, errBudget):
			w.Header().Set("Retry-After", "5")
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		case err != nil:
			r.log.Warn("a client of the metrics could not be reviewed", "error", err)
			http.Error(w, "the API server could not be asked", http.StatusServiceUnavailable)
		case said.status == http.StatusUnauthorized:
			trust(request.Context(), false)
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		case said.status == http.StatusForbidden:
			trust(request.Context(), false)
			http.Error(w, fmt.Sprintf("Forbidden: user %q may not get %s", said.user, request.URL.Path), http.StatusForbidden)
		default:
			trust(request.Context(), true)
			next.ServeHTTP(w, request)
		}
	})
}

// ask returns the kept answer, or else the API server's. It returns errBudget if the API
// server is not asked because of the budgets.
func (r *Reviewer) ask(ctx context.Context, from origin, q question, token string) (answer, error) {
	said, err := r.known(from, q)
	if said.status != 0 || err != nil {
		return said, err
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	said, err = r.review(ctx, token, q.path)
	if err != nil {
		return answer{}, err
	}
	said.until = r.now().Add(keepFor)
	r.keep(q, said)
	return said, nil
}

// known returns the kept answer. If it returns none, it has taken a review from the budget
// of the token.
func (r *Reviewer) known(from origin, q question) (answer, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := r.now()
	said, before := r.accepted[q]
	if !before {
		said = r.refused[q]
	}
	again := before || from.trusted
	switch {
	case now.Before(said.until):
		return said, nil
	case again && r.again.AllowN(now, 1), !again && r.budget(from.client).AllowN(now, 1) && r.all.AllowN(now, 1):
		return answer{}, nil
	}
	return answer{}, errBudget
}

// budget returns the client's budget for tokens that were not accepted before. When too many
// clients have one, those that have not used theirs lately lose it, and if that does not help
// the new clients share one.
func (r *Reviewer) budget(client netip.Prefix) *rate.Limiter {
	if len(r.clients) >= maxClients && r.clients[client] == nil {
		maps.DeleteFunc(r.clients, func(_ netip.Prefix, l *rate.Limiter) bool {
			return l.TokensAt(r.now()) >= float64(clientBurst)
		})
		if len(r.clients) >= maxClients {
			client = netip.Prefix{}
		}
	}
	if r.clients[client] == nil {
		r.clients[client] = rate.NewLimiter(clientRate, clientBurst)
	}
	return r.clients[client]
}

// keep stores an answer.
func (r *Reviewer) keep(q question, said answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	in := r.refused
	if said.status == http.StatusOK {
		in = r.accepted
	} else {
		delete(r.accepted, q)
	}
	if _, found := in[q]; !found && len(in) >= maxKept {
		delete(in, oldest(in))
	}
	in[q] = said
}

// oldest returns the question whose answer was kept first.
func oldest(answers map[question]answer) (first question) {
	for q, a := range answers {
		if known, found := answers[first]; !found || a.until.Before(known.until) {
			first = q
		}
	}
	return first
}

// review asks the API server.
func (r *Reviewer) review(ctx context.Context, token, path string) (answer, error) {
	who, err := r.kube.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, fmt.Errorf("reviewing a token: %w", err)
	}
	if !who.Status.Authenticated {
		return answer{status: http.StatusUnauthorized}, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, fmt.Errorf("reviewing the rights of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed {
		return answer{status: http.StatusForbidden, user: user.Username}, nil
	}
	return answer{status: http.StatusOK}, nil
}
