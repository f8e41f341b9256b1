package sqlstore

import "testing"

// Pragma changes a setting of the connection for writes.
func (s *Store) Pragma(t *testing.T, setting string) {
	t.Helper()
	if _, err := s.file.write.ExecContext(t.Context(), "PRAGMA "+setting); err != nil {
		t.Fatal(err)
	}
}
