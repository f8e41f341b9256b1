package files

// StoresLocked reports whether a caller holds the lock under which vector stores are created and deleted.
func (s *Service) StoresLocked() bool {
	if !s.storesMu.TryLock() {
		return true
	}
	s.storesMu.Unlock()
	return false
}
