package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// transport is how one client reaches the API server. It is an http.RoundTripper, so that
// the product's own clients work on it.
type transport struct {
	by    string // the name of the client
	api   *api
	turns *turns // nil: the client sends one request at a time
	// before is called before a request has its effect, and after it had: an error is
	// what the client gets, and no effect if it is from before.
	before func(r request) error
	after  func(r request) error
	evict  func(k key) error // whether a pod may be evicted
	renew  func(k key)       // brings the Lease of a kubelet up to date
	// refused is called with what is refused. Nil: it is not called.
	refused func(r request, err error)
	// lies changes what an agent writes, and shows it the truth. Nil: it does not lie.
	lies func() *liar
	// answers takes the objects of answers. Nil: answers are JSON.
	answers *answers
}

// request is one request, as faults and checks see it.
type request struct {
	method, subresource string
	key                 key
	body                []byte
}

func (r request) writes() bool { return r.method != http.MethodGet }

var errUnreachable = errors.New("connection refused")

// RoundTrip answers a request. Watches, and lists from which a watch continues, block until
// they are cancelled: the simulator fills caches itself.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("watch") != "" || query.Get("resourceVersion") != "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	k, subresource, known := parsePath(r.URL.Path)
	if !known {
		return answer(r, http.StatusNotFound, []byte("{}")), nil
	}
	one := request{method: r.Method, key: k, subresource: subresource}
	if r.Body != nil {
		one.body, _ = io.ReadAll(r.Body)
	}
	t.turns.wait(t.by + " " + r.Method + " " + r.URL.String())
	if err := t.before(one); err != nil {
		return nil, err
	}
	code, data := t.serve(r, one)
	if err := t.after(one); err != nil {
		return nil, err
	}
	return answer(r, code, data), nil
}

func answer(r *http.Request, code int, data []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}, ContentLength: int64(len(data)),
		Body: io.NopCloser(bytes.NewReader(data)),
	}
}

// parsePath parses /api/v1/… and /apis/GROUP/VERSION/….
func parsePath(path string) (k key, subresource string, known bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return key{}, "", false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		k.Namespace, parts = parts[1], parts[2:]
	}
	k.Resource = parts[0]
	if len(parts) > 1 {
		k.Name = parts[1]
	}
	if len(parts) > 2 {
		subresource = parts[2]
	}
	return k, subresource, true
}

func (t *transport) serve(r *http.Request, one request) (int, []byte) {
	if one.key.Name == "" && one.method == http.MethodGet {
		return t.list(r, one.key)
	}
	result, err := t.do(r, one)
	if err != nil {
		if t.refused != nil {
			t.refused(one, err)
		}
		return statusOf(err)
	}
	if result == nil {
		return http.StatusOK, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	}
	if liar := t.liar(one); liar != nil {
		result = liar.truth(result)
	}
	if t.answers != nil && newObject(one.key.Resource) != nil {
		return http.StatusOK, t.answers.put(answered{resource: one.key.Resource, items: []*stored{result}, bytes: result.bytes})
	}
	return http.StatusOK, result.bytes()
}

func (t *transport) do(r *http.Request, one request) (*stored, error) {
	k := one.key
	switch one.method {
	case http.MethodGet:
		if k.Namespace == corev1.NamespaceNodeLease {
			t.renew(k)
		}
		if found := t.api.objects[k]; found != nil {
			return found, nil
		}
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	case http.MethodDelete:
		var options metav1.DeleteOptions
		_ = json.Unmarshal(one.body, &options)
		if k.Resource == "pods" {
			return nil, t.terminate(k)
		}
		return nil, t.api.delete(t.by, k, options)
	}
	var body tree
	if err := json.Unmarshal(one.body, &body); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if liar := t.liar(one); liar != nil && one.subresource == "status" {
		body = liar.tell(body)
	}
	switch {
	case one.subresource == "eviction":
		if err := t.evict(k); err != nil {
			return nil, err
		}
		return nil, t.terminate(k)
	case r.URL.Query().Has("dryRun"):
		return t.dryRun(one, cmp.Or(k.Name, text(metadata(body), "name")))
	case one.method == http.MethodPost:
		k.Name = text(metadata(body), "name")
		return t.api.create(t.by, k, body)
	case one.method == http.MethodPut:
		return t.api.update(t.by, k, body)
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch"):
		return t.api.apply(t.by, k, body, r.URL.Query().Get("fieldManager"), one.subresource)
	}
	if r.Header.Get("Content-Type") == string(types.StrategicMergePatchType) {
		return t.api.conditionsPatch(t.by, k, body)
	}
	return t.api.mergePatch(t.by, k, body)
}

// liar returns the one whose NodeUpgrade a request is about, if it lies.
func (t *transport) liar(one request) *liar {
	if t.lies == nil || one.key.Resource != "nodeupgrades" || t.by != "agent "+one.key.Name {
		return nil
	}
	return t.lies()
}

// dryRun answers as the write would, and writes nothing.
func (t *transport) dryRun(one request, name string) (*stored, error) {
	k := one.key
	k.Name = name
	found := t.api.objects[k]
	switch {
	case found != nil && one.method == http.MethodPost:
		return nil, apierrors.NewAlreadyExists(groupResource(k.Resource), name)
	case found == nil && one.method != http.MethodPost:
		return nil, apierrors.NewNotFound(groupResource(k.Resource), name)
	}
	return found, nil
}

// terminate sets a pod's deletionTimestamp, as its kubelet ends it later.
func (t *transport) terminate(k key) error {
	found := t.api.objects[k]
	if found == nil {
		return apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	pod := clone(found.tree).(tree)
	if metadata(pod)["deletionTimestamp"] == nil {
		metadata(pod)["deletionTimestamp"] = t.api.now().UTC().Format("2006-01-02T15:04:05Z")
		t.api.put(t.by, k, pod)
	}
	return nil
}
