package sim

import (
	"sync"
	"testing/synctest"
)

// turns has the requests of goroutines that run at the same time served one after the other,
// in the same order in each run of a seed: a request waits until every goroutine waits for
// something, and the one with the first name is next.
type turns struct {
	depth   int // of programs that run while another one is between two requests
	mutex   sync.Mutex
	waiting []turn
	arrived chan struct{}
	ended   sync.WaitGroup
}

// turn is that of one request.
type turn struct {
	depth int
	name  string
	next  chan struct{}
}

func newTurns() *turns {
	t := &turns{arrived: make(chan struct{}, 1)}
	t.ended.Go(func() {
		for range t.arrived {
			for synctest.Wait(); t.giveNext(); synctest.Wait() {
			}
		}
	})
	return t
}

// wait returns when it is the turn of the request with the name.
func (t *turns) wait(name string) {
	if t == nil {
		return
	}
	next := make(chan struct{})
	t.mutex.Lock()
	t.waiting = append(t.waiting, turn{t.depth, name, next})
	t.mutex.Unlock()
	select {
	case t.arrived <- struct{}{}:
	default:
	}
	<-next
}

// giveNext serves the request that is next. It reports whether one was waiting.
func (t *turns) giveNext() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	first := -1
	for i, other := range t.waiting {
		if first < 0 || other.depth > t.waiting[first].depth || other.depth == t.waiting[first].depth && other.name < t.waiting[first].name {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	close(t.waiting[first].next)
	t.waiting = append(t.waiting[:first], t.waiting[first+1:]...)
	return true
}

// end serves the requests that are left, and no others.
func (t *turns) end() {
	close(t.arrived)
	t.ended.Wait()
}
