package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A fresh server is an old one whose etcd is as it was after the setup: that takes a tenth of a
// second, and a start takes three of CPU time. The API server sees the changes as it sees those
// of another API server.

// pair is a key of etcd with its value, as etcd's JSON has them.
type pair struct {
	Key      []byte `json:"key"`
	Value    []byte `json:"value,omitempty"`
	Revision int64  `json:"mod_revision,omitempty,string"`
}

// volatile are the keys that an API server writes for itself.
var volatile = []string{
	"/registry/masterleases/", "/registry/leases/kube-system/apiserver-", "/registry/ranges/", "/registry/ipaddresses/",
	"/registry/services/endpoints/default/kubernetes", "/registry/endpointslices/default/kubernetes",
}

func isVolatile(key []byte) bool {
	return slices.ContainsFunc(volatile, func(prefix string) bool { return strings.HasPrefix(string(key), prefix) })
}

// reset calls setup the first time, and later restores what was there after it.
func (s *server) reset(setup func()) error {
	if s.baseline == nil {
		setup()
		all, err := s.keys(false)
		if err != nil {
			return err
		}
		s.baseline = map[string]pair{}
		for _, one := range all {
			s.baseline[string(one.Key)] = one
		}
		return nil
	}
	now, err := s.keys(true)
	if err != nil {
		return err
	}
	missing := map[string]pair{}
	for key, one := range s.baseline {
		if !isVolatile(one.Key) {
			missing[key] = one
		}
	}
	var undo []map[string]any
	for _, one := range now {
		before, is := s.baseline[string(one.Key)]
		switch {
		case isVolatile(one.Key):
		case !is:
			undo = append(undo, map[string]any{"request_delete_range": map[string]any{"key": one.Key}})
		case before.Revision == one.Revision:
			delete(missing, string(one.Key))
		}
	}
	for _, one := range missing {
		undo = append(undo, map[string]any{"request_put": map[string]any{"key": one.Key, "value": one.Value}})
	}
	for some := range slices.Chunk(undo, 100) { // etcd takes 128 in a transaction
		if err := s.ask("txn", map[string]any{"success": some}, nil); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	now, err = s.keys(true)
	for _, one := range now {
		if before, is := missing[string(one.Key)]; is {
			before.Revision = one.Revision
			s.baseline[string(one.Key)] = before
		}
	}
	return err
}

// keys returns all pairs in etcd, without their values if only is true.
func (s *server) keys(only bool) ([]pair, error) {
	var answer struct{ KVs []pair }
	err := s.ask("range", map[string]any{"key": []byte("/registry/"), "range_end": []byte("/registry0"), "keys_only": only}, &answer)
	return answer.KVs, err
}

// ask calls a method of etcd's key-value service.
func (s *server) ask(method string, question, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Etcd+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking etcd for %s: %s", method, response.Status)
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("asking etcd for %s: %w", method, err)
	}
	return nil
}
