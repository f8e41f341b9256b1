package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/sqldb/postgres"
)

// Rates counts requests in a PostgreSQL database, for all servers that use it. Open the keys in the schema first.
type Rates struct{ db sqldb.Querier }

var _ auth.Rates = Rates{}

// NewRates returns the rates of the keys in a schema of a database.
func NewRates(db *postgres.Database, schema string) Rates { return Rates{db.Autocommit(schema)} }

// maxAhead is how far a row may be ahead of the clock of the database, beyond its burst, before it is taken for one of a clock that was set back. It is
// more than a statement waits for a row.
const maxAhead = time.Minute

// clock is the time of the database in nanoseconds.
const clock = "CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS BIGINT)"

// Take implements [auth.Rates] by the generic cell rate algorithm (GCRA, ITU-T I.371): a row has the time at which the bucket of its key is full again.
// One statement compares and advances it. The clock is that of the database; the time at is not used.
func (r Rates) Take(ctx context.Context, key string, rate auth.Limit, _ time.Time) (wait, full time.Duration, err error) {
	interval := rate.Interval().Nanoseconds()
	burst := int64(rate.N) * interval
	taken, err := sqldb.One(ctx, r.db, sqldb.Integer, "INSERT INTO rates AS r (key, full_at) VALUES (?1, "+clock+` + ?2::BIGINT) ON CONFLICT (key) DO UPDATE
		SET full_at = CASE WHEN r.full_at > excluded.full_at + ?4 THEN excluded.full_at ELSE greatest(r.full_at + ?2, excluded.full_at) END
		WHERE r.full_at + ?2 <= excluded.full_at - ?2 + ?3::BIGINT OR r.full_at > excluded.full_at + ?4::BIGINT RETURNING r.full_at - `+clock,
		key, interval, burst, burst-interval+maxAhead.Nanoseconds())
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, max(time.Duration(taken), 0), wrapRate(err)
	}
	left, err := sqldb.One(ctx, r.db, sqldb.Integer, "SELECT full_at + ?2 - ?3::BIGINT - "+clock+" FROM rates WHERE key = ?1", key, interval, burst)
	if errors.Is(err, sql.ErrNoRows) { // PostgreSQL has crashed meanwhile
		err = nil
	}
	wait = max(time.Duration(left), 1)
	return wait, wait + time.Duration(burst-interval), wrapRate(err)
}

func wrapRate(err error) error {
	if err != nil {
		return fmt.Errorf("count request: %w", err)
	}
	return nil
}
