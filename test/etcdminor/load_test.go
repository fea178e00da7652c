//go:build etcdminor

package etcdminor

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	writers      = 12
	keysOfWriter = 100
	shortLease   = 8 // seconds
)

// load is clients that behave as API servers do.
type load struct {
	c      *cluster
	client *clientv3.Client
	stop   func() // ends the writers
	close  func() // ends the rest
	leases sync.WaitGroup

	mutex    sync.Mutex
	values   map[string]int // what was acknowledged last
	acked    int
	unclear  int // not answered, or with an error
	lastAck  time.Time
	longest  time.Duration // without any acknowledged write
	events   int
	watched  map[string]int64
	expired  int
	latest   time.Duration // that a lease outlived its time
	kept     clientv3.LeaseID
	problems []string
}

func (c *cluster) newLoad() *load {
	l := &load{c: c, client: c.connect("", c.members...), values: map[string]int{}, watched: map[string]int64{}, lastAck: time.Now()}
	lease, err := l.client.Grant(c.t.Context(), shortLease)
	c.must(err)
	l.kept = lease.ID
	_, err = l.client.Put(c.t.Context(), "lease/kept", "", clientv3.WithLease(l.kept))
	c.must(err)
	works := []func(context.Context){}
	for i := range writers {
		works = append(works, func(ctx context.Context) { l.write(ctx, fmt.Sprintf("w/%02d", i)) })
	}
	l.stop = background(c.t.Context(), works...)
	l.close = background(c.t.Context(), l.keep, func(ctx context.Context) { l.follow(ctx, lease.Revision) })
	return l
}

// background runs functions until the one that it returns is called, which waits for their end.
func background(ctx context.Context, works ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for _, work := range works {
		group.Go(func() { work(ctx) })
	}
	return func() { cancel(); group.Wait() }
}

func (l *load) problem(format string, args ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// record is a key as its only writer knows it.
type record struct {
	key      string
	value    int
	revision int64
	unclear  bool // whether value+1 was written
}

func (l *load) write(ctx context.Context, prefix string) {
	records := make([]record, keysOfWriter)
	var last int64
	for n := 0; ctx.Err() == nil; n++ {
		r := &records[n%keysOfWriter]
		r.key = fmt.Sprintf("%s/%03d", prefix, n%keysOfWriter)
		for l.change(r, &last); r.unclear && l.c.t.Context().Err() == nil; l.change(r, &last) {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond) // leaves something of the machine to others
	}
}

// change writes the next value if the key is as it was left, which a lost write would show.
func (l *load) change(r *record, last *int64) {
	ctx, cancel := context.WithTimeout(l.c.t.Context(), 5*time.Second)
	defer cancel()
	next := strconv.Itoa(r.value + 1)
	answer, err := l.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(r.key), "=", r.revision)).
		Then(clientv3.OpPut(r.key, next+strings.Repeat(" ", 500))).Else(clientv3.OpGet(r.key)).Commit()
	if err != nil {
		r.unclear = true
		l.mutex.Lock()
		l.unclear++
		l.mutex.Unlock()
		return
	}
	revision := answer.Header.Revision
	if !answer.Succeeded {
		found := answer.Responses[0].GetResponseRange().Kvs
		if !r.unclear || len(found) != 1 || strings.TrimSpace(string(found[0].Value)) != next {
			l.problem("%s was left with %d at revision %d, and is now %v", r.key, r.value, r.revision, found)
			r.unclear = false
			return
		}
		revision = found[0].ModRevision
	} else if revision <= *last {
		l.problem("%s got revision %d after %d", r.key, revision, *last)
	}
	r.value, r.revision, r.unclear, *last = r.value+1, revision, false, max(*last, revision)
	l.acknowledge(r)
}

func (l *load) acknowledge(r *record) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.values[r.key] = r.value
	l.acked++
	l.longest = max(l.longest, time.Since(l.lastAck))
	l.lastAck = time.Now()
}

// follow watches from a revision on, and checks that no event is left out or comes twice.
func (l *load) follow(ctx context.Context, revision int64) {
	for ctx.Err() == nil {
		for answer := range l.client.Watch(clientv3.WithRequireLeader(ctx), "w/", clientv3.WithPrefix(), clientv3.WithRev(revision)) {
			if answer.CompactRevision != 0 {
				l.problem("the watch from %d is behind the compaction at %d", revision, answer.CompactRevision)
				return
			}
			for _, event := range answer.Events {
				l.see(string(event.Kv.Key), event.Kv.Version)
				revision = event.Kv.ModRevision + 1
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *load) see(key string, version int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if version != l.watched[key]+1 {
		l.problems = append(l.problems, fmt.Sprintf("the watch showed version %d of %s after %d", version, key, l.watched[key]))
	}
	l.watched[key] = version
	l.events++
}

func (l *load) keep(ctx context.Context) {
	for ctx.Err() == nil {
		alive, err := l.client.KeepAlive(ctx, l.kept)
		for err == nil {
			if _, ok := <-alive; !ok {
				break
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// leave grants a lease that is not kept alive: its key is there until the time is over, and gone soon after.
// A new leader begins the time again.
func (l *load) leave(name string) {
	ctx, cancel := context.WithTimeout(l.c.t.Context(), 2*time.Minute)
	defer cancel()
	lease, err := l.client.Grant(ctx, shortLease)
	for err != nil && ctx.Err() == nil {
		lease, err = l.client.Grant(ctx, shortLease)
	}
	granted := time.Now()
	for _, err = l.client.Put(ctx, name, "", clientv3.WithLease(lease.ID)); err != nil && time.Since(granted) < (shortLease-2)*time.Second; {
		_, err = l.client.Put(ctx, name, "", clientv3.WithLease(lease.ID))
	}
	if err != nil {
		l.problem("%s: %v", name, err)
		return
	}
	for ctx.Err() == nil {
		answer, err := l.client.Get(ctx, name)
		alive := time.Since(granted)
		if err == nil && answer.Count == 0 {
			l.mutex.Lock()
			l.expired, l.latest = l.expired+1, max(l.latest, alive-shortLease*time.Second)
			l.mutex.Unlock()
			if alive < (shortLease-1)*time.Second {
				l.problem("%s was gone after %s", name, alive)
			}
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	l.problem("%s was still there after %s", name, time.Since(granted))
}

// end stops the writers, and compares what each member has with what was acknowledged.
func (l *load) end() {
	l.stop()
	l.leases.Wait()
	l.c.compare(true)
	l.c.retry("the watch", func(context.Context) bool {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.events >= l.acked
	})
	for _, m := range l.c.members {
		answer, err := m.direct.Get(l.c.t.Context(), "w/", clientv3.WithPrefix(), clientv3.WithSerializable())
		l.c.must(err)
		found := map[string]int{}
		for _, kv := range answer.Kvs {
			found[string(kv.Key)], _ = strconv.Atoi(strings.TrimSpace(string(kv.Value)))
			if int64(found[string(kv.Key)]) != kv.Version {
				l.problem("%s: %s has the value %d, and version %d", m.name, kv.Key, found[string(kv.Key)], kv.Version)
			}
		}
		if !maps.Equal(found, l.values) {
			l.problem("%s has other values than were acknowledged", m.name)
		}
	}
	if ttl, err := l.client.TimeToLive(l.c.t.Context(), l.kept, clientv3.WithAttachedKeys()); err != nil || ttl.TTL <= 0 || len(ttl.Keys) != 1 {
		l.problem("the lease that was kept: %+v, %v", ttl, err)
	}
	l.close()
}
