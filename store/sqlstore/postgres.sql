-- Version 1 of the tables of a store in PostgreSQL. They are those of schema.go; texts are compared by their bytes.
CREATE TABLE files (
	id         TEXT COLLATE "C" PRIMARY KEY,
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	purpose    TEXT NOT NULL,
	bytes      BIGINT NOT NULL,
	md5        TEXT NOT NULL,
	sha256     TEXT NOT NULL,
	url        TEXT NOT NULL,
	status     TEXT NOT NULL,
	failure    TEXT NOT NULL,
	options    BYTEA,
	fields     BYTEA,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX files_sum ON files (sha256) WHERE sha256 <> '';

CREATE TABLE stores (
	id          TEXT COLLATE "C" PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	metadata    BYTEA,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	in_progress BIGINT NOT NULL DEFAULT 0,
	completed   BIGINT NOT NULL DEFAULT 0,
	failed      BIGINT NOT NULL DEFAULT 0,
	cancelled   BIGINT NOT NULL DEFAULT 0,
	bytes       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX stores_expiry ON stores (expires_at) WHERE expires_at > 0;

CREATE TABLE members (
	store  TEXT COLLATE "C" NOT NULL,
	file   TEXT COLLATE "C" NOT NULL,
	status TEXT NOT NULL,
	bytes  BIGINT NOT NULL,
	PRIMARY KEY (store, file)
);
CREATE INDEX members_file ON members (file);

CREATE TABLE changes (
	seq   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	store TEXT COLLATE "C" NOT NULL,
	file  TEXT COLLATE "C" NOT NULL,
	UNIQUE (store, file)
);
CREATE INDEX changes_file ON changes (file);

CREATE TABLE tasks (
	id         TEXT COLLATE "C" PRIMARY KEY,
	type       TEXT NOT NULL,
	status     TEXT NOT NULL,
	progress   DOUBLE PRECISION NOT NULL,
	resource   TEXT COLLATE "C" NOT NULL,
	failure    TEXT NOT NULL,
	tries      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	loose      BIGINT NOT NULL,
	unfetched  BIGINT NOT NULL
);
CREATE INDEX tasks_pending ON tasks (unfetched, created_at, id) WHERE status = 'pending';
CREATE INDEX tasks_running ON tasks (id) WHERE status = 'running';
CREATE INDEX tasks_resource ON tasks (resource);
CREATE INDEX tasks_loose ON tasks (updated_at) WHERE loose = 1;

CREATE FUNCTION count_member(id TEXT, state TEXT, size BIGINT, n BIGINT) RETURNS void LANGUAGE sql AS $$
	UPDATE stores s SET
		in_progress = in_progress + CASE WHEN state NOT IN ('completed', 'failed', 'cancelled') THEN n ELSE 0 END,
		completed = completed + CASE state WHEN 'completed' THEN n ELSE 0 END,
		failed = failed + CASE state WHEN 'failed' THEN n ELSE 0 END,
		cancelled = cancelled + CASE state WHEN 'cancelled' THEN n ELSE 0 END,
		bytes = bytes + n * size
	WHERE s.id = count_member.id
$$;
CREATE FUNCTION members_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP <> 'INSERT' THEN PERFORM count_member(OLD.store, OLD.status, OLD.bytes, -1); END IF;
	IF TG_OP <> 'DELETE' THEN PERFORM count_member(NEW.store, NEW.status, NEW.bytes, 1); END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER members_changed AFTER INSERT OR DELETE OR UPDATE OF status, bytes ON members FOR EACH ROW EXECUTE FUNCTION members_changed();

CREATE FUNCTION files_fetched() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	UPDATE tasks SET unfetched = CASE NEW.sha256 WHEN '' THEN 1 ELSE 0 END WHERE resource = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER files_fetched AFTER UPDATE OF sha256 ON files FOR EACH ROW WHEN (OLD.sha256 <> NEW.sha256) EXECUTE FUNCTION files_fetched();
