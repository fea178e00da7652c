package kube

import (
	"net/http"
	"sync"
	"time"
)

// ClockLimit is by how much this host's clock may differ from the API server's.
const ClockLimit = 30 * time.Second

// Clock compares this host's clock with the API server's, by the header Date of each response. It
// makes no requests of its own. The zero Clock is ready for use.
type Clock struct {
	mutex  sync.Mutex
	at     time.Time     // of the last measurement
	ahead  time.Duration // as measured last
	unsure time.Duration // by how much that may be wrong
	now    func() time.Time
}

// NewClock returns a Clock for a host whose time now returns.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Wrap returns a transport that measures with each response.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sent := c.time()
		response, err := next.RoundTrip(request)
		if err == nil {
			c.measure(sent, c.time(), response.Header.Get("Date"))
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (c *Clock) time() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// measure notes the difference. The API server answered between the two times, and the header is
// cut to the second.
func (c *Clock) measure(sent, received time.Time, date string) {
	there, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	took := max(0, received.Sub(sent))
	c.at = received
	c.ahead = received.Add(-took / 2).Sub(there.Add(time.Second / 2))
	c.unsure = (took + time.Second) / 2
}

// Ahead returns by how much this host's clock is ahead of the API server's, and less than zero if
// it is behind. It returns zero if the difference may be within ClockLimit, or is not known. A step
// of the wall clock since the last measurement counts.
func (c *Clock) Ahead() time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.at.IsZero() {
		return 0
	}
	now := c.time()
	stepped := now.Round(0).Sub(c.at.Round(0)) - now.Sub(c.at)
	ahead := c.ahead + stepped
	if max(ahead, -ahead)-c.unsure <= ClockLimit {
		return 0
	}
	return ahead
}
