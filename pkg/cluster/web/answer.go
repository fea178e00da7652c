package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxBytes is how much of an answer is read.
	maxBytes = 4 << 20
	// MaxValue is how large a value may be that is decoded.
	MaxValue = 64 << 10
	// maxSkipped is how large a value may be that is not needed.
	maxSkipped = 512 << 10
	// maxRefusal is how much is read of an answer that refuses, and maxReason how much of that is told.
	maxRefusal, maxReason = 8 << 10, 200
)

// Refusal is an answer other than 200.
type Refusal struct {
	Code int
	// Object is the name of the object that an API server says it is about.
	Object string
	text   string
}

func (r *Refusal) Error() string { return r.text }

// Ask sends a request, and has read read the answer, unless that is nil. as is what should answer, such as "a Prometheus".
// The error names the address.
func Ask(client *http.Client, request *http.Request, as string, read func(*Answer) error) error {
	response, err := client.Do(request) //nolint:gosec // who may write the UpgradePolicy chooses whom the coordinator asks
	if err != nil {
		return err //nolint:wrapcheck // it names the address
	}
	defer response.Body.Close()
	address := (&url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path}).String()
	if response.StatusCode != http.StatusOK {
		return refusal(address, response)
	}
	if read == nil {
		return nil
	}
	body := &pieces{from: response.Body, left: maxBytes}
	answer := &Answer{decoder: json.NewDecoder(body), body: body}
	err = read(answer)
	if err == nil {
		err = answer.end()
	}
	if isMalformed(err) {
		return fmt.Errorf("%s does not answer as %s does", address, as)
	}
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", address, err)
	}
	return nil
}

// refusal returns what a server says that refuses. A page of HTML says nothing.
func refusal(address string, response *http.Response) *Refusal {
	refused := &Refusal{Code: response.StatusCode, text: fmt.Sprintf("%s answers %s", address, response.Status)}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	var said struct {
		Error   string `json:"error"`   // a Prometheus
		Message string `json:"message"` // an API server, or an Alertmanager
		Details struct {
			Name string `json:"name"`
		} `json:"details"`
	}
	if err != nil {
		return refused
	}
	plain := strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain")
	if json.Unmarshal(text, &said) != nil && json.Unmarshal(text, &said.Message) != nil && plain {
		said.Message, _, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	}
	refused.Object = said.Details.Name
	if reason := strings.TrimSpace(said.Error + said.Message); reason != "" {
		refused.text += ": " + reason[:min(len(reason), maxReason)]
	}
	return refused
}

// isMalformed reports whether an error is about what an answer is, not about reading it.
func isMalformed(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrMalformed)
}

// ErrMalformed says that an answer is not what the server should answer.
var ErrMalformed = errors.New("malformed")

// Answer is an answer in JSON. Its methods read what comes next.
type Answer struct {
	decoder *json.Decoder
	body    *pieces
}

// Object reads an object. field reads the value of the field of that name.
func (a *Answer) Object(field func(name string) error) error {
	return a.parts('{', '}', func() error {
		name, err := a.token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		return field(text)
	})
}

// Array reads an array. item reads one of its values.
func (a *Answer) Array(item func() error) error { return a.parts('[', ']', item) }

func (a *Answer) parts(begin, end json.Delim, part func() error) error {
	if first, err := a.token(); err != nil || first != begin {
		return cmp.Or(err, ErrMalformed)
	}
	for a.more() {
		if err := part(); err != nil {
			return err
		}
	}
	if last, err := a.token(); err != nil || last != end {
		return cmp.Or(err, ErrMalformed)
	}
	return nil
}

func (a *Answer) more() bool {
	a.body.begin(MaxValue)
	return a.decoder.More()
}

func (a *Answer) token() (json.Token, error) {
	a.body.begin(MaxValue)
	return a.decoder.Token() //nolint:wrapcheck // Ask names the address
}

// Text reads a value of at most that many bytes, and returns its text.
func (a *Answer) Text(most int) (json.RawMessage, error) {
	a.body.begin(most)
	var text json.RawMessage
	if err := a.decoder.Decode(&text); err != nil {
		return nil, err //nolint:wrapcheck // Ask names the address
	}
	if len(text) > most {
		return nil, tooLarge(most)
	}
	return text, nil
}

// Value reads a value of at most MaxValue bytes.
func (a *Answer) Value(into any) error {
	text, err := a.Text(MaxValue)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.Join(err, ErrMalformed)
	}
	return nil
}

// Skip reads a value that is not needed.
func (a *Answer) Skip() error {
	_, err := a.Text(maxSkipped)
	return err
}

// end returns an error if something follows.
func (a *Answer) end() error {
	if _, err := a.token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, ErrMalformed)
	}
	return nil
}

func tooLarge(most int) error { return fmt.Errorf("a part of it is larger than %d KiB", most>>10) }

// pieces is an answer of which only the first bytes are read, and of each piece only as many as a piece
// may have.
type pieces struct {
	from io.Reader
	left int // of the answer

	most, piece int // how large the piece may be, and what is left of that
}

// begin begins a piece.
func (p *pieces) begin(most int) { p.most, p.piece = most, most }

// Read implements io.Reader.
func (p *pieces) Read(buffer []byte) (int, error) {
	if p.left <= 0 {
		return 0, fmt.Errorf("it is larger than %d MiB", maxBytes>>20)
	}
	if p.piece <= 0 {
		return 0, tooLarge(p.most)
	}
	n, err := p.from.Read(buffer[:min(len(buffer), p.left, p.piece)])
	p.left, p.piece = p.left-n, p.piece-n
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}
