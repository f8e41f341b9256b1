package files

import "context"

// StoresLocked reports whether a caller holds the lock under which vector stores are created and deleted.
func (s *Service) StoresLocked() bool {
	if !s.storesMu.TryLock() {
		return true
	}
	s.storesMu.Unlock()
	return false
}

// CompleteRemovals does what the sweeper does.
func (s *Service) CompleteRemovals(ctx context.Context) error { return s.completeRemovals(ctx) }
