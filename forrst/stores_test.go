package forrst_test

import (
	"testing"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/storetest"
)

func TestMemoryStores(t *testing.T) {
	t.Parallel()
	t.Run("Tokens", func(t *testing.T) {
		t.Parallel()
		storetest.Tokens(t, func(*testing.T) forrst.TokenStore { return forrst.NewMemoryTokens() })
	})
	t.Run("Idempotency", func(t *testing.T) {
		t.Parallel()
		storetest.Idempotency(t, func(*testing.T) forrst.IdempotencyStore { return forrst.NewMemoryIdempotency() })
	})
	t.Run("Operations", func(t *testing.T) {
		t.Parallel()
		storetest.Operations(t, func(*testing.T) forrst.OperationStore { return forrst.NewMemoryOperations() })
	})
}
