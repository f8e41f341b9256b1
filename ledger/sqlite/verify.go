package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/ledger"
)

// quickChecks find accounts that do not agree with their newest entry. They take time for each account, not for each entry.
var quickChecks = []string{
	`SELECT 'account ' || id || ': the balance is not that of the newest entry' FROM accounts
		WHERE balance IS NOT (SELECT balance FROM entries WHERE account = id ORDER BY transfer DESC LIMIT 1)`,
	`SELECT 'account ' || id || ': the held amount is not the sum of its holds' FROM accounts
		WHERE held <> (SELECT coalesce(sum(amount), 0) FROM holds WHERE account = id)`,
	`SELECT 'the balances of all accounts sum to ' || sum(balance) FROM accounts HAVING sum(balance) <> 0`,
	`SELECT 'account ' || id || ': below zero' FROM accounts WHERE id <> 'issuer' AND balance < held`,
}

// fullChecks recompute everything from the entries.
var fullChecks = []string{
	`SELECT 'transfer ' || transfer || ': its entries sum to ' || sum(amount) FROM entries GROUP BY transfer HAVING sum(amount) <> 0`,
	`SELECT 'entry of ' || account || ': there is no transfer ' || transfer FROM entries WHERE transfer NOT IN (SELECT seq FROM transfers)`,
	`SELECT 'account ' || id || ': the balance is not the sum of its entries' FROM accounts
		WHERE balance IS NOT (SELECT sum(amount) FROM entries WHERE account = id)`,
	`SELECT 'account ' || id || ': the held amount is not the sum of its entries' FROM accounts
		WHERE held IS NOT (SELECT sum(held) FROM entries WHERE account = id)`,
	`SELECT 'account ' || account || ': it has entries and no row' FROM (SELECT DISTINCT account FROM entries) WHERE account NOT IN (SELECT id FROM accounts)`,
	`SELECT 'entry of ' || account || ' in transfer ' || transfer || ': the balance after it is wrong' FROM
		(SELECT account, transfer, balance, sum(amount) OVER (PARTITION BY account ORDER BY transfer) AS sum FROM entries) WHERE balance <> sum`,
	`SELECT 'entry of ' || account || ' in transfer ' || transfer || ': below zero' FROM
		(SELECT account, transfer, sum(amount - held) OVER (PARTITION BY account ORDER BY transfer) AS left FROM entries) WHERE account <> 'issuer' AND left < 0`,
	`SELECT 'run ' || run || ': ' || count(*) || ' settlements' FROM transfers WHERE kind IN ('charge', 'void') GROUP BY run HAVING count(*) > 1`,
	`SELECT 'run ' || run || ': the hold is not that of its transfer' FROM holds WHERE amount IS NOT
		(SELECT e.held FROM transfers t JOIN entries e ON e.transfer = t.seq WHERE t.id = 'hold_' || holds.run AND e.account = holds.account)`,
	`SELECT 'run ' || run || ': the hold is missing' FROM transfers t WHERE kind = 'hold' AND run NOT IN (SELECT run FROM holds)
		AND NOT EXISTS (SELECT 1 FROM transfers WHERE run = t.run AND kind IN ('charge', 'void'))`,
	`SELECT 'run ' || run || ': the charge has no record' FROM transfers WHERE kind = 'charge' AND seq NOT IN (SELECT transfer FROM charges)`,
	`SELECT 'run ' || run || ': the fee is not what its account paid' FROM charges c WHERE fee IS NOT
		coalesce((SELECT -amount FROM entries WHERE transfer = c.transfer AND account = c.account), 0)`,
	`SELECT 'run ' || run || ': the platform did not receive the rest of the fee' FROM charges c WHERE fee - distributed <>
		coalesce((SELECT amount FROM entries WHERE transfer = c.transfer AND account = 'platform'), 0)`,
	`SELECT 'run ' || run || ': the settlement is not what was posted' FROM charges c WHERE fee IS NOT json_extract(settlement, '$.fee')
		OR distributed IS NOT json_extract(settlement, '$.distributed') OR distributed IS NOT
		(SELECT coalesce(sum(json_extract(value, '$.earned')), 0) FROM json_each(settlement, '$.shares'))`,
}

// maxProblems limits the problems of a report.
const maxProblems = 100

// Check compares the balance of each account with its newest entry, the sums of holds, and the sum of all balances, which is 0. It is cheap enough for
// each start; [Store.Verify] checks everything.
func (s *Store) Check(ctx context.Context) error {
	problems, err := s.problems(ctx, s.read, quickChecks)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("it is damaged: %s", strings.Join(problems[:min(len(problems), 3)], "; "))
	}
	return wrap("check ledger", err)
}

// Verify implements [ledger.Book].
func (s *Store) Verify(ctx context.Context) (r ledger.Report, err error) {
	// A transaction reads one state of the file, while a server goes on.
	err = s.read.Change(ctx, func(tx *sqlitedb.Tx) error {
		rows, err := sqlitedb.All(ctx, tx, sqlitedb.Text, "PRAGMA integrity_check(10)")
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0] != "ok" {
			r.Problems = rows
		}
		found, err := s.problems(ctx, tx, append(append([]string{}, quickChecks...), fullChecks...))
		if err != nil {
			return err
		}
		r.Problems = append(r.Problems, found...)
		return tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM transfers), (SELECT count(*) FROM entries)").
			Scan(&r.Accounts, &r.Transfers, &r.Entries)
	})
	if errors.Is(err, sql.ErrTxDone) {
		err = ctx.Err()
	}
	return r, wrap("verify ledger", err)
}

func (s *Store) problems(ctx context.Context, q sqlitedb.Querier, checks []string) (problems []string, err error) {
	for _, check := range checks {
		rows, err := sqlitedb.All(ctx, q, sqlitedb.Text, fmt.Sprintf("%s LIMIT %d", check, maxProblems))
		if err != nil {
			return nil, err
		}
		problems = append(problems, rows...)
	}
	return problems, nil
}
