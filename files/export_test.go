package files

// StoresLocked reports whether a caller holds the lock under which vector stores are created and deleted.
func (s *Service) StoresLocked() bool {
	if !s.life.TryLock() {
		return true
	}
	s.life.Unlock()
	return false
}
