package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// prefix begins every key, and afterPrefix is the first key after all of them.
const (
	prefix      = "number/"
	afterPrefix = "number0"
)

// store is etcd, through its JSON gateway, in which keys and values are in base64:
// https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/
type store struct {
	url    string
	client *http.Client
}

type pair struct {
	Key      []byte `json:"key"`
	Value    []byte `json:"value,omitempty"`
	RangeEnd []byte `json:"range_end,omitempty"`
}

func (s store) put(ctx context.Context, key, value string) error {
	return s.call(ctx, "/v3/kv/put", pair{Key: []byte(key), Value: []byte(value)}, nil)
}

// all returns every key with its value. The read is linearizable: it is not older than any
// write that was acknowledged before.
func (s store) all(ctx context.Context) (map[string]string, error) {
	var answer struct {
		Kvs []pair `json:"kvs"`
	}
	if err := s.call(ctx, "/v3/kv/range", pair{Key: []byte(prefix), RangeEnd: []byte(afterPrefix)}, &answer); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, p := range answer.Kvs {
		all[string(p.Key)] = string(p.Value)
	}
	return all, nil
}

func (s store) call(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
