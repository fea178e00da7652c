package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// keepFor is how long an answer of the API server is kept.
	keepFor = time.Minute
	// maxKept is how many answers are kept.
	maxKept = 256
	// reviewTimeout is how long a review may take.
	reviewTimeout = 10 * time.Second
)

// Reviewer asks the API server who a client is and whether it may read a path.
type Reviewer struct {
	kube kubernetes.Interface
	log  *slog.Logger
	now  func() time.Time

	mutex sync.Mutex
	kept  map[question]answer
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

// NewReviewer returns a Reviewer with a client of its own.
func NewReviewer(access *rest.Config, log *slog.Logger) (*Reviewer, error) {
	access = rest.CopyConfig(access)
	access.QPS, access.Burst = 2, 10
	kube, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews: %w", err)
	}
	return &Reviewer{kube: kube, log: log, now: time.Now, kept: map[question]answer{}}, nil
}

// protect returns a handler that passes on the requests of clients that may get the path.
func (r *Reviewer) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		token, found := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
		if token = strings.TrimSpace(token); !found || token == "" {
			http.Error(w, "Unauthorized: send a bearer token", http.StatusUnauthorized)
			return
		}
		said, err := r.ask(request.Context(), token, request.URL.Path)
		switch {
		case err != nil:
			r.log.Warn("a client of the metrics could not be reviewed", "error", err)
			http.Error(w, "the API server could not be asked", http.StatusServiceUnavailable)
		case said.status == http.StatusUnauthorized:
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		case said.status == http.StatusForbidden:
			http.Error(w, fmt.Sprintf("Forbidden: user %q may not get %s", said.user, request.URL.Path), http.StatusForbidden)
		default:
			next.ServeHTTP(w, request)
		}
	})
}

// ask returns the kept answer, or else the API server's.
func (r *Reviewer) ask(ctx context.Context, token, path string) (answer, error) {
	q := question{sha256.Sum256([]byte(token)), path}
	r.mutex.Lock()
	said, found := r.kept[q]
	r.mutex.Unlock()
	if found && r.now().Before(said.until) {
		return said, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	said, err := r.review(ctx, token, path)
	if err != nil {
		return answer{}, err
	}
	said.until = r.now().Add(keepFor)
	r.keep(q, said)
	return said, nil
}

// keep stores an answer. If there are too many, it drops those that are too old, or else
// all of them.
func (r *Reviewer) keep(q question, said answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.kept) >= maxKept {
		for old, a := range r.kept {
			if !r.now().Before(a.until) {
				delete(r.kept, old)
			}
		}
	}
	if len(r.kept) >= maxKept {
		clear(r.kept)
	}
	r.kept[q] = said
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
