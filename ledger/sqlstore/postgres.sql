-- Version 1 of the tables of a ledger in PostgreSQL. The tables and rules are those of schema.go. The check of the schema compares the triggers, which
-- are written as PostgreSQL shows them, and the names of constraints and indexes.
CREATE TABLE accounts (
	id      TEXT COLLATE "C" PRIMARY KEY CONSTRAINT accounts_id CHECK (id <> ''),
	balance BIGINT NOT NULL CONSTRAINT accounts_balance CHECK (balance BETWEEN -1000000000000000000 AND 1000000000000000000),
	held    BIGINT NOT NULL CONSTRAINT accounts_held CHECK (held >= 0),
	CONSTRAINT accounts_available CHECK (id = 'issuer' OR balance >= held)
);

CREATE TABLE transfers (
	seq  BIGINT PRIMARY KEY,
	id   TEXT COLLATE "C" NOT NULL UNIQUE,
	kind TEXT NOT NULL CONSTRAINT transfers_kind CHECK (kind IN ('credit', 'transfer', 'hold', 'charge', 'void', 'refund')),
	run  TEXT COLLATE "C" NOT NULL CONSTRAINT transfers_run CHECK (kind IN ('credit', 'transfer') AND run = '' OR run <> '' AND id = kind || '_' || run),
	at   BIGINT NOT NULL,
	note TEXT NOT NULL
);
CREATE UNIQUE INDEX transfers_ends ON transfers (run) WHERE kind IN ('charge', 'void');

CREATE TABLE entries (
	transfer BIGINT NOT NULL CONSTRAINT entries_of REFERENCES transfers (seq) DEFERRABLE INITIALLY DEFERRED,
	account  TEXT COLLATE "C" NOT NULL,
	amount   BIGINT NOT NULL,
	held     BIGINT NOT NULL,
	balance  BIGINT NOT NULL,
	PRIMARY KEY (account, transfer)
);
CREATE INDEX entries_transfer ON entries (transfer, account);

CREATE TABLE holds (
	run     TEXT COLLATE "C" PRIMARY KEY,
	account TEXT COLLATE "C" NOT NULL,
	amount  BIGINT NOT NULL CONSTRAINT holds_amount CHECK (amount > 0)
);
CREATE INDEX holds_account ON holds (account);

CREATE TABLE charges (
	transfer    BIGINT PRIMARY KEY CONSTRAINT charges_of REFERENCES transfers (seq) DEFERRABLE INITIALLY DEFERRED,
	run         TEXT COLLATE "C" NOT NULL UNIQUE,
	account     TEXT COLLATE "C" NOT NULL,
	at          BIGINT NOT NULL,
	model       TEXT COLLATE "C" NOT NULL,
	collection  TEXT COLLATE "C" NOT NULL,
	input       BIGINT NOT NULL,
	output      BIGINT NOT NULL,
	duration    BIGINT NOT NULL,
	cached      BOOLEAN NOT NULL,
	fee         BIGINT NOT NULL CONSTRAINT charges_fee CHECK (fee >= 0),
	distributed BIGINT NOT NULL CONSTRAINT charges_distributed CHECK (distributed BETWEEN 0 AND fee),
	settlement  TEXT NOT NULL
);
CREATE INDEX charges_at ON charges (at);
CREATE INDEX charges_account ON charges (account, at);

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	RAISE EXCEPTION '%', CASE TG_TABLE_NAME WHEN 'accounts' THEN 'accounts are not deleted' WHEN 'holds' THEN 'holds are not changed'
		ELSE TG_TABLE_NAME || ' are only appended' END;
END $$;

CREATE FUNCTION entries_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
	holding BIGINT := NEW.held + coalesce((SELECT held FROM accounts WHERE id = NEW.account), 0);
BEGIN
	IF EXISTS (SELECT 1 FROM transfers WHERE seq = NEW.transfer) THEN RAISE EXCEPTION 'the transfer is complete'; END IF;
	IF NEW.transfer <> (SELECT coalesce(max(seq), 0) + 1 FROM transfers) THEN RAISE EXCEPTION 'entries belong to the next transfer'; END IF;
	IF EXISTS (SELECT 1 FROM entries WHERE account = NEW.account AND transfer >= NEW.transfer) THEN RAISE EXCEPTION 'entries are only appended'; END IF;
	IF NEW.balance <> NEW.amount + coalesce((SELECT balance FROM entries WHERE account = NEW.account ORDER BY transfer DESC LIMIT 1), 0) THEN
		RAISE EXCEPTION 'the balance is not that of the account after the entry';
	END IF;
	IF holding < 0 OR NEW.account <> 'issuer' AND NEW.balance < holding THEN RAISE EXCEPTION 'below zero'; END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION entries_apply() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	INSERT INTO accounts (id, balance, held) SELECT NEW.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE id = NEW.account);
	UPDATE accounts SET balance = balance + NEW.amount, held = held + NEW.held WHERE id = NEW.account;
	RETURN NULL;
END $$;

CREATE FUNCTION transfers_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
	hold holds;
	entries_n BIGINT;
	moved BIGINT;
	held_n BIGINT;
	held_sum NUMERIC;
	issued BIGINT;
	total NUMERIC;
BEGIN
	SELECT * INTO hold FROM holds WHERE run = NEW.run;
	SELECT count(*), count(*) FILTER (WHERE amount <> 0), count(*) FILTER (WHERE held <> 0), coalesce(sum(held), 0),
		count(*) FILTER (WHERE account = 'issuer' AND amount < 0), coalesce(sum(amount), 0)
		INTO entries_n, moved, held_n, held_sum, issued, total FROM entries WHERE transfer = NEW.seq;
	IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM transfers) OR EXISTS (SELECT 1 FROM transfers WHERE id = NEW.id) THEN
		RAISE EXCEPTION 'transfers are only appended';
	END IF;
	IF NEW.kind IN ('hold', 'charge', 'void') AND EXISTS (SELECT 1 FROM transfers WHERE run = NEW.run AND kind IN ('charge', 'void')) THEN
		RAISE EXCEPTION 'the run was charged or voided';
	END IF;
	IF NEW.kind IN ('credit', 'transfer') AND NEW.id ~ '^(hold|charge|void|refund)_' THEN RAISE EXCEPTION 'the id is reserved for runs'; END IF;
	IF total <> 0 THEN RAISE EXCEPTION 'the entries of a transfer must sum to zero'; END IF;
	IF NEW.kind = 'hold' AND (entries_n <> 1 OR held_sum <= 0 OR moved > 0) THEN RAISE EXCEPTION 'only a hold holds, and moves nothing'; END IF;
	IF NEW.kind IN ('charge', 'void') AND coalesce((SELECT sum(held) FROM entries WHERE transfer = NEW.seq AND account = hold.account), 0) <> -coalesce(hold.amount, 0) THEN
		RAISE EXCEPTION 'a charge or void must release the hold of its run';
	END IF;
	IF NEW.kind <> 'hold' AND EXISTS (SELECT 1 FROM entries WHERE transfer = NEW.seq AND held <> 0
		AND (NEW.kind NOT IN ('charge', 'void') OR account IS DISTINCT FROM hold.account)) THEN
		RAISE EXCEPTION 'only the account of a hold releases it';
	END IF;
	IF NEW.kind = 'charge' AND EXISTS (SELECT 1 FROM entries WHERE transfer = NEW.seq
		AND amount < -CASE WHEN account = hold.account THEN hold.amount ELSE 0 END) THEN
		RAISE EXCEPTION 'a charge is at most its hold, and paid by its account';
	END IF;
	IF NEW.kind = 'void' AND hold.run IS NULL THEN RAISE EXCEPTION 'a void releases a hold'; END IF;
	IF NEW.kind = 'void' AND moved > 0 THEN RAISE EXCEPTION 'a void moves nothing'; END IF;
	IF NEW.kind = 'refund' AND (NOT EXISTS (SELECT 1 FROM charges WHERE run = NEW.run) OR EXISTS
		(SELECT 1 FROM (SELECT account, sum(amount) AS returned, sum(charged) AS charged FROM (SELECT account, amount, 0 AS charged FROM entries WHERE transfer = NEW.seq
			UNION ALL SELECT account, 0, amount FROM entries WHERE transfer = (SELECT transfer FROM charges WHERE run = NEW.run)) both_sides GROUP BY account) sums
		WHERE CASE WHEN account = (SELECT account FROM charges WHERE run = NEW.run) THEN returned + charged <> 0
			WHEN account IN ('platform', 'issuer') THEN returned > 0
			ELSE returned > 0 OR returned + charged < 0 END)) THEN
		RAISE EXCEPTION 'a refund reverses a charge';
	END IF;
	IF NEW.kind IN ('credit', 'transfer') AND (entries_n <> 2 OR moved <> 2 OR held_n > 0 OR issued <> CASE NEW.kind WHEN 'credit' THEN 1 ELSE 0 END) THEN
		RAISE EXCEPTION 'a credit moves credits of the issuer, a transfer those of another account';
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION transfers_apply() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	INSERT INTO holds (run, account, amount) SELECT NEW.run, account, held FROM entries WHERE transfer = NEW.seq AND NEW.kind = 'hold';
	DELETE FROM holds WHERE run = NEW.run AND NEW.kind IN ('charge', 'void');
	IF EXISTS (SELECT 1 FROM entries e WHERE transfer = NEW.seq AND held <> 0 AND
		(SELECT held FROM accounts WHERE id = e.account) IS DISTINCT FROM (SELECT coalesce(sum(amount), 0) FROM holds WHERE account = e.account)) THEN
		RAISE EXCEPTION 'the held amount is not the sum of the holds';
	END IF;
	RETURN NULL;
END $$;
CREATE FUNCTION charges_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	IF EXISTS (SELECT 1 FROM charges WHERE transfer = NEW.transfer OR run = NEW.run) THEN RAISE EXCEPTION 'charges are only appended'; END IF;
	IF NOT EXISTS (SELECT 1 FROM transfers WHERE seq = NEW.transfer AND kind = 'charge' AND run = NEW.run AND at = NEW.at) THEN
		RAISE EXCEPTION 'no such charge';
	END IF;
	IF NEW.fee <> -coalesce((SELECT amount FROM entries WHERE transfer = NEW.transfer AND account = NEW.account), 0) THEN
		RAISE EXCEPTION 'the fee is not what was paid';
	END IF;
	RETURN NEW;
END $$;

CREATE FUNCTION accounts_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	IF NEW.balance <> 0 OR NEW.held <> 0 OR EXISTS (SELECT 1 FROM accounts WHERE id = NEW.id) OR NOT EXISTS (SELECT 1 FROM entries WHERE account = NEW.id) THEN
		RAISE EXCEPTION 'accounts come from entries';
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION accounts_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	IF NEW.id <> OLD.id OR NOT EXISTS
		(SELECT 1 FROM (SELECT * FROM entries WHERE account = NEW.id ORDER BY transfer DESC LIMIT 1) e WHERE NEW.balance = e.balance
			AND NEW.balance - OLD.balance = e.amount AND NEW.held - OLD.held = e.held AND NOT EXISTS (SELECT 1 FROM transfers WHERE seq = e.transfer)) THEN
		RAISE EXCEPTION 'balances come from entries';
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION holds_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	IF EXISTS (SELECT 1 FROM holds WHERE run = NEW.run) OR EXISTS (SELECT 1 FROM transfers WHERE run = NEW.run AND kind IN ('charge', 'void'))
		OR NOT EXISTS (SELECT 1 FROM transfers t JOIN entries e ON e.transfer = t.seq
			WHERE t.id = 'hold_' || NEW.run AND t.kind = 'hold' AND e.account = NEW.account AND e.held = NEW.amount) THEN
		RAISE EXCEPTION 'holds come from transfers';
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION holds_delete() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
	IF NOT EXISTS (SELECT 1 FROM transfers WHERE run = OLD.run AND kind IN ('charge', 'void')) THEN RAISE EXCEPTION 'the hold was neither posted nor voided'; END IF;
	RETURN OLD;
END $$;

CREATE TRIGGER entries_insert BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_insert();
CREATE TRIGGER entries_apply AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_apply();
CREATE TRIGGER entries_keep BEFORE DELETE OR UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER entries_truncate BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER transfers_insert BEFORE INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION transfers_insert();
CREATE TRIGGER transfers_apply AFTER INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION transfers_apply();
CREATE TRIGGER transfers_keep BEFORE DELETE OR UPDATE ON transfers FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER transfers_truncate BEFORE TRUNCATE ON transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER charges_insert BEFORE INSERT ON charges FOR EACH ROW EXECUTE FUNCTION charges_insert();
CREATE TRIGGER charges_keep BEFORE DELETE OR UPDATE ON charges FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER charges_truncate BEFORE TRUNCATE ON charges FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER accounts_insert BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION accounts_insert();
CREATE TRIGGER accounts_update BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION accounts_update();
CREATE TRIGGER accounts_keep BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER accounts_truncate BEFORE TRUNCATE ON accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER holds_insert BEFORE INSERT ON holds FOR EACH ROW EXECUTE FUNCTION holds_insert();
CREATE TRIGGER holds_delete BEFORE DELETE ON holds FOR EACH ROW EXECUTE FUNCTION holds_delete();
CREATE TRIGGER holds_keep BEFORE UPDATE ON holds FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER holds_truncate BEFORE TRUNCATE ON holds FOR EACH STATEMENT EXECUTE FUNCTION refuse();
