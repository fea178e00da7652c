package cli

import (
	"context"
	"sync"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// sources are the indexes of images that were read: many clusters have the same.
type sources struct {
	mutex sync.Mutex
	read  map[string]*indexOnce
}

type indexOnce struct {
	once  sync.Once
	found clusterstate.Source
}

// of returns the index, which is read once. Without sources, it is read each time.
func (s *sources) of(ctx context.Context, from v1alpha1.ImageSource) clusterstate.Source {
	if s == nil {
		return readIndex(ctx, from)
	}
	s.mutex.Lock()
	if s.read == nil {
		s.read = map[string]*indexOnce{}
	}
	key := from.URL + "\n" + from.Keyring
	index := s.read[key]
	if index == nil {
		index = &indexOnce{}
		s.read[key] = index
	}
	s.mutex.Unlock()
	index.once.Do(func() {
		index.found = readIndex(context.WithoutCancel(ctx), from) // it is not this cluster's alone
	})
	return index.found
}

// readIndex reads an index of images.
func readIndex(ctx context.Context, from v1alpha1.ImageSource) clusterstate.Source {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	return source.NewPoller(from).Read(ctx)
}
