package sqlstore

// migrations upgrade a file from each version to the next. A released migration must not change.
var migrations = []string{tables, dropTriggers + triggers}

// tables are the tables and indexes. The entries of a transfer are inserted before its row, which completes it: its trigger checks that they sum to
// zero, and a foreign key that is checked at the commit allows no entries without it.
const tables = `
CREATE TABLE accounts (
	id      TEXT PRIMARY KEY CHECK (id <> ''),
	balance INTEGER NOT NULL CHECK (balance BETWEEN -1000000000000000000 AND 1000000000000000000),
	held    INTEGER NOT NULL CHECK (held >= 0),
	CHECK (id = 'issuer' OR balance >= held)
) STRICT, WITHOUT ROWID;

CREATE TABLE transfers (
	seq  INTEGER PRIMARY KEY,
	id   TEXT NOT NULL UNIQUE,
	kind TEXT NOT NULL CHECK (kind IN ('credit', 'transfer', 'hold', 'charge', 'void', 'refund')),
	run  TEXT NOT NULL CHECK (kind IN ('credit', 'transfer') AND run = '' OR run <> '' AND id = kind || '_' || run),
	at   INTEGER NOT NULL,
	note TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX transfers_ends ON transfers (run) WHERE kind IN ('charge', 'void');

CREATE TABLE entries (
	transfer INTEGER NOT NULL REFERENCES transfers (seq) DEFERRABLE INITIALLY DEFERRED,
	account  TEXT NOT NULL,
	amount   INTEGER NOT NULL,
	held     INTEGER NOT NULL,
	balance  INTEGER NOT NULL,
	PRIMARY KEY (account, transfer)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_transfer ON entries (transfer, account);

CREATE TABLE holds (
	run     TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	amount  INTEGER NOT NULL CHECK (amount > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE charges (
	transfer    INTEGER PRIMARY KEY REFERENCES transfers (seq) DEFERRABLE INITIALLY DEFERRED,
	run         TEXT NOT NULL UNIQUE,
	account     TEXT NOT NULL,
	at          INTEGER NOT NULL,
	model       TEXT NOT NULL,
	collection  TEXT NOT NULL,
	input       INTEGER NOT NULL,
	output      INTEGER NOT NULL,
	duration    INTEGER NOT NULL,
	cached      INTEGER NOT NULL,
	fee         INTEGER NOT NULL CHECK (fee >= 0),
	distributed INTEGER NOT NULL CHECK (distributed BETWEEN 0 AND fee),
	settlement  TEXT NOT NULL
) STRICT;
CREATE INDEX charges_at ON charges (at);
CREATE INDEX charges_account ON charges (account, at);
`

// dropTriggers removes the triggers that version 1 had: those of an early build.
const dropTriggers = `
DROP TRIGGER IF EXISTS entries_insert; DROP TRIGGER IF EXISTS entries_apply; DROP TRIGGER IF EXISTS entries_update; DROP TRIGGER IF EXISTS entries_delete;
DROP TRIGGER IF EXISTS transfers_insert; DROP TRIGGER IF EXISTS transfers_hold; DROP TRIGGER IF EXISTS transfers_end;
DROP TRIGGER IF EXISTS transfers_update; DROP TRIGGER IF EXISTS transfers_delete;
DROP TRIGGER IF EXISTS charges_insert; DROP TRIGGER IF EXISTS charges_update; DROP TRIGGER IF EXISTS charges_delete;
DROP TRIGGER IF EXISTS accounts_update; DROP TRIGGER IF EXISTS accounts_delete; DROP TRIGGER IF EXISTS holds_update; DROP TRIGGER IF EXISTS holds_delete;
`

// triggers bind every program that writes to the file, also one that does not use this package. Nothing that was appended is updated, deleted or
// replaced. The rows of accounts and holds come from entries and transfers alone. The rules do not rely on recursive_triggers, without which REPLACE
// deletes a row without its delete trigger: the triggers before an insert refuse a row that exists. They hold for INSERT OR IGNORE too, because
// RAISE(ABORT) stops such a statement, where a constraint would only skip a row.
//
// A program can still go around them. Without foreign_keys, it can commit entries without their transfer. OR IGNORE can skip the row of a charge or
// a transfer. It can change the schema itself, or the bytes of the file. The check at the start finds entries without a transfer, a changed schema,
// and balances that are not the sum of their entries; [Store.Verify] finds the rest, unless a forger changes everything consistently.
const triggers = `
CREATE TRIGGER entries_insert BEFORE INSERT ON entries BEGIN
	SELECT RAISE(ABORT, 'the transfer is complete') WHERE EXISTS (SELECT 1 FROM transfers WHERE seq = NEW.transfer);
	SELECT RAISE(ABORT, 'entries belong to the next transfer') WHERE NEW.transfer <> (SELECT coalesce(max(seq), 0) + 1 FROM transfers);
	SELECT RAISE(ABORT, 'entries are only appended') WHERE EXISTS (SELECT 1 FROM entries WHERE account = NEW.account AND transfer >= NEW.transfer);
	SELECT RAISE(ABORT, 'the balance is not that of the account after the entry') WHERE NEW.balance <> NEW.amount +
		coalesce((SELECT balance FROM entries WHERE account = NEW.account ORDER BY transfer DESC LIMIT 1), 0);
	SELECT RAISE(ABORT, 'below zero') FROM (SELECT NEW.held + coalesce((SELECT held FROM accounts WHERE id = NEW.account), 0) AS held)
		WHERE held < 0 OR NEW.account <> 'issuer' AND NEW.balance < held;
END;
CREATE TRIGGER entries_apply AFTER INSERT ON entries BEGIN
	INSERT INTO accounts (id, balance, held) SELECT NEW.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE id = NEW.account);
	UPDATE accounts SET balance = balance + NEW.amount, held = held + NEW.held WHERE id = NEW.account;
	SELECT RAISE(ABORT, 'the account does not allow the balance') WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE id = NEW.account AND balance = NEW.balance);
END;

CREATE TRIGGER transfers_insert BEFORE INSERT ON transfers BEGIN
	SELECT RAISE(ABORT, 'transfers are only appended') WHERE NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM transfers)
		OR EXISTS (SELECT 1 FROM transfers WHERE id = NEW.id);
	SELECT RAISE(ABORT, 'the run was charged or voided') WHERE NEW.kind IN ('hold', 'charge', 'void')
		AND EXISTS (SELECT 1 FROM transfers WHERE run = NEW.run AND kind IN ('charge', 'void'));
	SELECT RAISE(ABORT, 'the id is reserved for runs') WHERE NEW.kind IN ('credit', 'transfer')
		AND (NEW.id GLOB 'hold_*' OR NEW.id GLOB 'charge_*' OR NEW.id GLOB 'void_*' OR NEW.id GLOB 'refund_*');
	SELECT RAISE(ABORT, 'the entries of a transfer must sum to zero') WHERE
		(SELECT coalesce(sum(amount), 0) FROM entries WHERE transfer = NEW.seq) <> 0;
	SELECT RAISE(ABORT, 'only a hold holds, and moves nothing') WHERE NEW.kind = 'hold' AND
		(SELECT count(*) <> 1 OR sum(held) <= 0 OR sum(amount <> 0) > 0 FROM entries WHERE transfer = NEW.seq);
	SELECT RAISE(ABORT, 'a charge or void must release the hold of its run') WHERE NEW.kind IN ('charge', 'void') AND
		(SELECT coalesce(sum(held), 0) FROM entries WHERE transfer = NEW.seq AND account = (SELECT account FROM holds WHERE run = NEW.run)) <>
		-coalesce((SELECT amount FROM holds WHERE run = NEW.run), 0);
	SELECT RAISE(ABORT, 'only the account of a hold releases it') WHERE NEW.kind <> 'hold' AND EXISTS (SELECT 1 FROM entries WHERE transfer = NEW.seq
		AND held <> 0 AND (NEW.kind NOT IN ('charge', 'void') OR account IS NOT (SELECT account FROM holds WHERE run = NEW.run)));
	SELECT RAISE(ABORT, 'a charge is at most its hold, and paid by its account') WHERE NEW.kind = 'charge' AND EXISTS (SELECT 1 FROM entries
		WHERE transfer = NEW.seq AND amount < -coalesce((SELECT amount FROM holds WHERE run = NEW.run AND account = entries.account), 0));
	SELECT RAISE(ABORT, 'a void releases a hold') WHERE NEW.kind = 'void' AND NOT EXISTS (SELECT 1 FROM holds WHERE run = NEW.run);
	SELECT RAISE(ABORT, 'a void moves nothing') WHERE NEW.kind = 'void' AND EXISTS (SELECT 1 FROM entries WHERE transfer = NEW.seq AND amount <> 0);
	SELECT RAISE(ABORT, 'a refund reverses a charge') WHERE NEW.kind = 'refund' AND (NOT EXISTS (SELECT 1 FROM charges WHERE run = NEW.run) OR EXISTS
		(SELECT 1 FROM (SELECT account, sum(amount) AS returned, sum(charged) AS charged FROM (SELECT account, amount, 0 AS charged FROM entries WHERE transfer = NEW.seq
			UNION ALL SELECT account, 0, amount FROM entries WHERE transfer = (SELECT transfer FROM charges WHERE run = NEW.run)) GROUP BY account)
		WHERE CASE WHEN account = (SELECT account FROM charges WHERE run = NEW.run) THEN returned + charged <> 0
			WHEN account IN ('platform', 'issuer') THEN returned > 0
			ELSE returned > 0 OR returned + charged < 0 END));
	SELECT RAISE(ABORT, 'a credit moves credits of the issuer, a transfer those of another account') WHERE NEW.kind IN ('credit', 'transfer') AND
		(SELECT count(*) <> 2 OR sum(amount = 0 OR held <> 0) > 0 OR sum(account = 'issuer' AND amount < 0) <> (NEW.kind = 'credit') FROM entries
		WHERE transfer = NEW.seq);
END;
CREATE TRIGGER transfers_apply AFTER INSERT ON transfers BEGIN
	INSERT INTO holds (run, account, amount) SELECT NEW.run, account, held FROM entries WHERE transfer = NEW.seq AND NEW.kind = 'hold';
	DELETE FROM holds WHERE run = NEW.run AND NEW.kind IN ('charge', 'void');
	SELECT RAISE(ABORT, 'the held amount is not the sum of the holds') WHERE EXISTS (SELECT 1 FROM entries e WHERE transfer = NEW.seq AND held <> 0 AND
		(SELECT held FROM accounts WHERE id = e.account) IS NOT (SELECT coalesce(sum(amount), 0) FROM holds WHERE account = e.account));
END;
CREATE TRIGGER charges_insert BEFORE INSERT ON charges BEGIN
	SELECT RAISE(ABORT, 'charges are only appended') WHERE EXISTS (SELECT 1 FROM charges WHERE transfer = NEW.transfer OR run = NEW.run);
	SELECT RAISE(ABORT, 'no such charge') WHERE NOT EXISTS
		(SELECT 1 FROM transfers WHERE seq = NEW.transfer AND kind = 'charge' AND run = NEW.run AND at = NEW.at);
	SELECT RAISE(ABORT, 'the fee is not what was paid') WHERE NEW.fee <>
		-coalesce((SELECT amount FROM entries WHERE transfer = NEW.transfer AND account = NEW.account), 0);
END;

CREATE TRIGGER accounts_insert BEFORE INSERT ON accounts WHEN NEW.balance <> 0 OR NEW.held <> 0 OR EXISTS (SELECT 1 FROM accounts WHERE id = NEW.id)
	OR NOT EXISTS (SELECT 1 FROM entries WHERE account = NEW.id)
	BEGIN SELECT RAISE(ABORT, 'accounts come from entries'); END;
CREATE TRIGGER accounts_update BEFORE UPDATE ON accounts WHEN NEW.id <> OLD.id OR NOT EXISTS
	(SELECT 1 FROM (SELECT * FROM entries WHERE account = NEW.id ORDER BY transfer DESC LIMIT 1) e WHERE NEW.balance = e.balance
		AND NEW.balance - OLD.balance = e.amount AND NEW.held - OLD.held = e.held AND NOT EXISTS (SELECT 1 FROM transfers WHERE seq = e.transfer))
	BEGIN SELECT RAISE(ABORT, 'balances come from entries'); END;
CREATE TRIGGER accounts_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'accounts are not deleted'); END;
CREATE TRIGGER holds_insert BEFORE INSERT ON holds WHEN EXISTS (SELECT 1 FROM holds WHERE run = NEW.run)
	OR EXISTS (SELECT 1 FROM transfers WHERE run = NEW.run AND kind IN ('charge', 'void'))
	OR NOT EXISTS (SELECT 1 FROM transfers t JOIN entries e ON e.transfer = t.seq
		WHERE t.id = 'hold_' || NEW.run AND t.kind = 'hold' AND e.account = NEW.account AND e.held = NEW.amount)
	BEGIN SELECT RAISE(ABORT, 'holds come from transfers'); END;
CREATE TRIGGER holds_update BEFORE UPDATE ON holds BEGIN SELECT RAISE(ABORT, 'holds are not changed'); END;
CREATE TRIGGER holds_delete BEFORE DELETE ON holds WHEN NOT EXISTS (SELECT 1 FROM transfers WHERE run = OLD.run AND kind IN ('charge', 'void'))
	BEGIN SELECT RAISE(ABORT, 'the hold was neither posted nor voided'); END;
CREATE TRIGGER transfers_update BEFORE UPDATE ON transfers BEGIN SELECT RAISE(ABORT, 'transfers are only appended'); END;
CREATE TRIGGER transfers_delete BEFORE DELETE ON transfers BEGIN SELECT RAISE(ABORT, 'transfers are only appended'); END;
CREATE TRIGGER entries_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only appended'); END;
CREATE TRIGGER entries_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only appended'); END;
CREATE TRIGGER charges_update BEFORE UPDATE ON charges BEGIN SELECT RAISE(ABORT, 'charges are only appended'); END;
CREATE TRIGGER charges_delete BEFORE DELETE ON charges BEGIN SELECT RAISE(ABORT, 'charges are only appended'); END;
`
