package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/sqldb"
)

// startChecks find accounts and holds that do not agree with the entries. They read each entry once.
var startChecks = []string{
	`SELECT 'account ' || coalesce(id, account) || ': the balance or the held amount is not the sum of its entries' FROM
		(SELECT account, sum(amount) AS amount, sum(held) AS held FROM entries GROUP BY account) e FULL JOIN accounts a ON a.id = e.account
		WHERE a.balance IS DISTINCT FROM e.amount OR a.held IS DISTINCT FROM e.held`,
	`SELECT 'account ' || id || ': the balance is not that of the newest entry' FROM accounts
		WHERE balance IS DISTINCT FROM (SELECT balance FROM entries WHERE account = id ORDER BY transfer DESC LIMIT 1)`,
	`SELECT 'account ' || id || ': the held amount is not the sum of its holds' FROM accounts
		LEFT JOIN (SELECT account, sum(amount) AS amount FROM holds GROUP BY account) AS h ON account = id WHERE held <> coalesce(amount, 0)`,
	`SELECT 'the balances of all accounts sum to ' || sum(balance) FROM accounts HAVING sum(balance) <> 0`,
	`SELECT 'account ' || id || ': below zero' FROM accounts WHERE id <> 'issuer' AND balance < held`,
	`SELECT 'entry of ' || account || ': there is no transfer ' || transfer FROM entries WHERE transfer > (SELECT coalesce(max(seq), 0) FROM transfers)`,
}

// fullChecks find entries, transfers and holds that do not agree with each other.
var fullChecks = []string{
	`SELECT 'transfer ' || seq || ': ' || (seq - before - 1) || ' transfers before it are missing' FROM
		(SELECT seq, lag(seq, 1, 0) OVER (ORDER BY seq) AS before FROM transfers) AS t WHERE seq <> before + 1`,
	`SELECT 'transfer ' || transfer || ': its entries sum to ' || sum(amount) FROM entries GROUP BY transfer HAVING sum(amount) <> 0`,
	`SELECT 'entry of ' || account || ': there is no transfer ' || transfer FROM entries WHERE transfer NOT IN (SELECT seq FROM transfers)`,
	`SELECT 'entry of ' || account || ' in transfer ' || transfer || ': the balance after it is wrong' FROM
		(SELECT account, transfer, balance, sum(amount) OVER (PARTITION BY account ORDER BY transfer) AS total FROM entries) AS e WHERE balance <> total`,
	`SELECT 'entry of ' || account || ' in transfer ' || transfer || ': below zero' FROM
		(SELECT account, transfer, sum(amount) OVER w AS balance, sum(held) OVER w AS held FROM entries WINDOW w AS (PARTITION BY account ORDER BY transfer)) AS e
		WHERE held < 0 OR account <> 'issuer' AND balance < held`,
	`SELECT 'transfer ' || seq || ': its entries are not those of a ' || kind FROM transfers t LEFT JOIN (SELECT transfer, count(*) AS n, count(*) FILTER (WHERE amount <> 0) AS moved,
		count(*) FILTER (WHERE held <> 0) AS holding, sum(held) AS held, max(account) AS account, count(*) FILTER (WHERE account = 'issuer' AND amount < 0) AS issued FROM entries GROUP BY transfer) AS sums
		ON transfer = seq WHERE CASE kind
		WHEN 'credit' THEN n = 2 AND moved = 2 AND holding = 0 AND issued = 1
		WHEN 'transfer' THEN n = 2 AND moved = 2 AND holding = 0 AND issued = 0
		WHEN 'hold' THEN n = 1 AND moved = 0 AND held > 0
		WHEN 'void' THEN n = 1 AND moved = 0 AND -held = (SELECT e.held FROM transfers h JOIN entries e ON e.transfer = h.seq
			WHERE h.id = 'hold_' || t.run AND h.kind = 'hold' AND h.seq < t.seq AND e.account = account)
		WHEN 'refund' THEN coalesce(holding, 0) = 0 AND EXISTS (SELECT 1 FROM charges c WHERE c.run = t.run AND c.transfer < t.seq) AND NOT EXISTS
			(SELECT 1 FROM (SELECT account, sum(amount) AS returned, sum(charged) AS charged FROM (SELECT account, amount, 0 AS charged FROM entries WHERE transfer = t.seq
				UNION ALL SELECT account, 0, amount FROM entries WHERE transfer = (SELECT transfer FROM charges WHERE run = t.run)) AS sides GROUP BY account) AS sums
			WHERE CASE WHEN account = (SELECT account FROM charges WHERE run = t.run) THEN returned + charged <> 0
				WHEN account IN ('platform', 'issuer') THEN returned > 0
				ELSE returned > 0 OR returned + charged < 0 END)
		ELSE kind = 'charge' END IS NOT TRUE`,
	`SELECT 'run ' || run || ': ' || count(*) || ' settlements' FROM transfers WHERE kind IN ('charge', 'void') GROUP BY run HAVING count(*) > 1`,
	`SELECT 'run ' || run || ': the hold is not that of its transfer' FROM holds h WHERE amount IS DISTINCT FROM (SELECT e.held FROM transfers t
		JOIN entries e ON e.transfer = t.seq WHERE t.id = 'hold_' || h.run AND t.kind = 'hold' AND e.account = h.account)`,
	`SELECT 'run ' || run || ': the hold is missing' FROM transfers t WHERE kind = 'hold' AND run NOT IN (SELECT run FROM holds)
		AND NOT EXISTS (SELECT 1 FROM transfers WHERE run = t.run AND kind IN ('charge', 'void'))`,
	`SELECT 'run ' || run || ': the hold was released and is still there' FROM holds WHERE run IN (SELECT run FROM transfers WHERE kind IN ('charge', 'void'))`,
	`SELECT 'run ' || run || ': the charge has no record' FROM transfers WHERE kind = 'charge' AND seq NOT IN (SELECT transfer FROM charges)`,
	`SELECT 'run ' || c.run || ': the record is not that of its transfer' FROM charges c LEFT JOIN transfers t ON t.seq = c.transfer
		WHERE t.kind IS DISTINCT FROM 'charge' OR t.run IS DISTINCT FROM c.run OR t.at IS DISTINCT FROM c.at OR t.id IS DISTINCT FROM 'charge_' || c.run`,
}

// maxProblems limits the problems that one check reports.
const maxProblems = 100

// Check finds a changed schema, entries without a transfer, and accounts whose balance or held amount is not the sum of their entries. It reads each
// entry once, which is cheap enough for each start; [Store.Verify] checks everything.
func (s *Store) Check(ctx context.Context) error {
	problems, err := schemaProblems(ctx, s.read)
	for _, check := range startChecks {
		if err != nil {
			break
		}
		var found []string
		found, err = sqlProblems(ctx, s.read, check)
		problems = append(problems, found...)
	}
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("it is damaged: %s", strings.Join(problems[:min(len(problems), 3)], "; "))
	}
	return wrap("check ledger", err)
}

// Verify implements [ledger.Book].
func (s *Store) Verify(ctx context.Context) (r ledger.Report, err error) {
	// A transaction reads one state of the file, while a server goes on.
	err = s.read.Change(ctx, func(tx sqldb.Querier) error {
		r = ledger.Report{}
		ended := false
		// A check that fails is a problem too: pages of the file may be damaged, or a table gone.
		add := func(found []string, err error) {
			r.Problems = append(r.Problems, found...)
			if err != nil && ctx.Err() == nil && !ended {
				r.Problems = append(r.Problems, "a check failed: "+err.Error())
			}
			ended = ended || err != nil && tx.Dialect() == sqldb.PostgreSQL // it refuses further statements of the transaction
		}
		if tx.Dialect() == sqldb.SQLite {
			rows, err := sqldb.All(ctx, tx, sqldb.Text, "PRAGMA integrity_check(10)")
			if len(rows) == 1 && rows[0] == "ok" {
				rows = nil
			}
			add(rows, err)
		}
		add(schemaProblems(ctx, tx))
		for _, check := range slices.Concat(startChecks, fullChecks) {
			add(sqlProblems(ctx, tx, check))
		}
		add(chargeProblems(ctx, tx))
		add(nil, tx.Each(ctx, func(scan func(...any) error) error { return scan(&r.Accounts, &r.Transfers, &r.Entries) },
			"SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM transfers), (SELECT count(*) FROM entries)"))
		return ctx.Err()
	})
	if errors.Is(err, sql.ErrTxDone) {
		err = ctx.Err()
	}
	return r, wrap("verify ledger", err)
}

func sqlProblems(ctx context.Context, q sqldb.Querier, check string) ([]string, error) {
	return sqldb.All(ctx, q, sqldb.Text, fmt.Sprintf("%s LIMIT %d", check, maxProblems))
}

// schemaQuery returns the objects of a schema but those of SQLite itself. A file without them has none of the rules of the ledger.
const schemaQuery = "SELECT type || ' ' || name || char(10) || sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"

// newSchema returns the schema of a new file.
var newSchema = sync.OnceValues(func() (_ []string, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a file of its own
	d := &sqlitedb.DB{DB: db}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Migrate(context.Background(), migrations); err != nil {
		return nil, err
	}
	return sqldb.All(context.Background(), d, sqldb.Text, schemaQuery)
})

// schemaProblems compares the schema with that of a new file.
func schemaProblems(ctx context.Context, q sqldb.Querier) (problems []string, err error) {
	want, query := postgresObjects(), postgresQuery
	if q.Dialect() == sqldb.SQLite {
		query = schemaQuery
		if want, err = newSchema(); err != nil {
			return nil, err
		}
	}
	got, err := sqldb.All(ctx, q, sqldb.Text, query)
	if err != nil {
		return nil, err
	}
	for _, object := range slices.Sorted(maps.Keys(difference(want, got))) {
		problems = append(problems, "schema: the "+object+" is missing or was changed")
	}
	for _, object := range slices.Sorted(maps.Keys(difference(got, want))) {
		problems = append(problems, "schema: the "+object+" was added or changed")
	}
	return problems, nil
}

// difference returns the types and names of the objects that are in a and not in b.
func difference(a, b []string) map[string]bool {
	out := map[string]bool{}
	for _, object := range a {
		if !slices.Contains(b, object) {
			name, _, _ := strings.Cut(object, "\n")
			out[name] = true
		}
	}
	return out
}

// posted is a charge as it is stored, with its entries.
type posted struct {
	transfer            int64
	run                 event.RunID
	account, settlement string
	fee, distributed    ledger.Credits
	duration            event.Millis
	held, after         ledger.Credits // what the run held, and the balance of the account after the charge
	entries             string         // as JSON
}

func scanPosted(scan func(...any) error) (p posted, err error) {
	err = scan(&p.transfer, &p.run, &p.account, &p.settlement, &p.fee, &p.distributed, &p.duration, &p.held, &p.after, &p.entries)
	return p, err
}

// chargeProblems computes the entries of each charge again from its settlement.
func chargeProblems(ctx context.Context, q sqldb.Querier) (problems []string, err error) {
	const page = 1000
	list := q.Dialect().Pick("json_group_array(json_object('Account', account, 'Amount', amount, 'Held', held))",
		"coalesce(json_agg(json_build_object('Account', account, 'Amount', amount, 'Held', held)), '[]')::text")
	for last := int64(0); len(problems) < maxProblems; {
		charges, err := sqldb.All(ctx, q, scanPosted, `SELECT transfer, run, account, settlement, fee, distributed, duration,
			coalesce((SELECT e.held FROM transfers t JOIN entries e ON e.transfer = t.seq WHERE t.id = 'hold_' || c.run AND t.kind = 'hold' AND e.account = c.account), 0),
			coalesce((SELECT balance FROM entries e WHERE e.account = c.account AND e.transfer <= c.transfer ORDER BY e.transfer DESC LIMIT 1), 0),
			(SELECT `+list+` FROM entries e WHERE e.transfer = c.transfer)
			FROM charges c WHERE transfer > ? ORDER BY transfer LIMIT ?`, last, page)
		if err != nil {
			return problems, err
		}
		for _, p := range charges {
			last = p.transfer
			for _, problem := range p.problems() {
				problems = append(problems, fmt.Sprintf("run %s: %s", p.run, problem))
			}
		}
		if len(charges) < page {
			break
		}
	}
	return problems, nil
}

// problems compares the settlement with the record and the entries.
func (p posted) problems() (problems []string) {
	var s event.Settled
	var entries []ledger.Entry
	if err := errors.Join(json.Unmarshal([]byte(p.settlement), &s), json.Unmarshal([]byte(p.entries), &entries)); err != nil {
		return []string{"the settlement cannot be read"}
	}
	if s.Fee != p.fee || s.Distributed != p.distributed || s.Duration != p.duration || s.Transaction != string(ledger.KindCharge)+"_"+string(p.run) {
		problems = append(problems, "the settlement is not that of the record")
	}
	if s.After != p.after || s.Before != s.After+s.Fee {
		problems = append(problems, fmt.Sprintf("the balances before and after are not those of the account %s", p.account))
	}
	portions := 0
	for _, share := range s.Shares {
		portions += share.Portion
	}
	if len(s.Shares) > 0 && portions != event.PortionUnit {
		problems = append(problems, fmt.Sprintf("the portions sum to %d", portions))
	}
	want := chargeEntries(s, p.account, p.held)
	byAccount := func(a, b ledger.Entry) int { return cmp.Compare(a.Account, b.Account) }
	slices.SortFunc(want, byAccount)
	slices.SortFunc(entries, byAccount)
	for _, pair := range [2][2][]ledger.Entry{{want, entries}, {entries, want}} {
		for _, e := range pair[0] {
			if !slices.Contains(pair[1], e) {
				problems = append(problems, "the settlement is not what was posted to the account "+e.Account)
			}
		}
	}
	return slices.Compact(problems)
}
