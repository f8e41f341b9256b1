//go:build linux

package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

const schema = "sluice_default"

func init() {
	engines["postgres"] = postgrestest.URL
	connect = func(t testing.TB, url string) (*sqlstore.Store, error) {
		return sqlstore.OpenPostgres(t.Context(), postgrestest.Open(t, url), schema)
	}
}

// TestPostgresSchema checks that the schema itself enforces the rules: each statement comes from a program that does not use this package.
func TestPostgresSchema(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := open(t, url)
	withCharge(t, s)
	db, err := pgx.Connect(t.Context(), url+"&search_path="+schema)
	require.NoError(t, err)
	defer db.Close(t.Context())
	wanted := map[string]string{
		"entries are only appended (truncate)":     "TRUNCATE entries CASCADE",
		"transfers are only appended (truncate)":   "TRUNCATE transfers, entries, charges",
		"accounts are not deleted (truncate)":      "TRUNCATE accounts",
		"transfers are only appended (other path)": "SET LOCAL search_path TO public; DELETE FROM " + schema + ".transfers",
	}
	for want, statements := range forbidden {
		if !strings.Contains(statements, "REPLACE") && !strings.Contains(statements, "OR IGNORE") {
			wanted[want] = strings.NewReplacer("0, 0, 0, 0, 0, 0, '' FROM charges", "0, 0, 0, FALSE, 0, 0, '' FROM charges").Replace(statements)
		}
	}
	for want, statements := range wanted {
		_, err := db.Exec(t.Context(), "BEGIN;"+statements+";COMMIT", pgx.QueryExecModeSimpleProtocol)
		if db.PgConn().TxStatus() != 'I' {
			if _, err := db.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		want, _, _ = strings.Cut(want, " (")
		want = strings.NewReplacer("FOREIGN KEY constraint failed", "violates foreign key constraint", "CHECK constraint failed", "violates check constraint", ": kind IN", "").Replace(want)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", statements, err, want)
		}
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 50, Held: 20}, ledger.Account{ID: "issuer", Balance: -100}, ledger.Account{ID: "platform", Balance: 50})
}

// TestPostgresDamage checks that changes of an owner of the tables are found.
func TestPostgresDamage(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"ALTER TABLE transfers DISABLE TRIGGER transfers_keep":                                                        "the trigger transfers_keep is missing or was changed",
		"DROP TRIGGER entries_insert ON entries":                                                                      "the trigger entries_insert is missing",
		"CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'":             "the trigger transfers_truncate is missing or was changed",
		"DROP INDEX transfers_ends":                                                                                   "the index transfers_ends is missing",
		"ALTER TABLE accounts DROP CONSTRAINT accounts_held":                                                          "the constraint accounts_held is missing",
		"CREATE TRIGGER extra AFTER INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION refuse()":                       "the trigger extra was added",
		"SET session_replication_role = replica; UPDATE accounts SET balance = balance + 1 WHERE id = 'ann'":          "account ann: the balance",
		"SET session_replication_role = replica; INSERT INTO entries VALUES (99, 'cid', 0, 0, 5)":                     "there is no transfer 99",
		"SET session_replication_role = replica; DELETE FROM holds":                                                   "run r2: the hold is missing",
		"SET session_replication_role = replica; DELETE FROM transfers WHERE id = 'charge_r1'":                        "1 transfers before it are missing",
		"SET session_replication_role = replica; UPDATE transfers SET kind = 'transfer' WHERE id = '1'":               "its entries are not those of a transfer",
		"SET session_replication_role = replica; UPDATE charges SET settlement = '{'":                                 "run r1: the settlement cannot be read",
		"SET session_replication_role = replica; UPDATE charges SET fee = fee + 1":                                    "run r1: the settlement is not that of the record",
		"SET session_replication_role = replica; UPDATE entries SET balance = balance + 1 WHERE transfer = 1":         "the balance after it is wrong",
		"SET session_replication_role = replica; UPDATE entries SET account = 'eve' WHERE account = 'platform'":       "not what was posted to the account platform",
		"SET session_replication_role = replica; ALTER TABLE charges RENAME TO gone":                                  "a check failed",
		"SET session_replication_role = replica; UPDATE entries SET held = 9223372036854775807 WHERE account = 'ann'": "account ann: the balance or the held amount",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.URL(t)
			s := open(t, url)
			withCharge(t, s)
			verify(t, s)
			postgrestest.Exec(t, url+"&search_path="+schema, change)
			report, err := s.Verify(t.Context())
			if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), want) {
				t.Errorf("verify: %q, %v", report.Problems, err)
			}
		})
	}
}
