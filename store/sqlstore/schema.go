package sqlstore

// migrations upgrade a file from each version to the next. A released migration must not change.
//
// Triggers maintain the counts of a vector store in its row, so that reading them takes the same time for any number of files. A task is loose if
// its file does not exist.
var migrations = []string{`
CREATE TABLE files (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	purpose    TEXT NOT NULL,
	bytes      INTEGER NOT NULL,
	md5        TEXT NOT NULL,
	sha256     TEXT NOT NULL,
	url        TEXT NOT NULL,
	status     TEXT NOT NULL,
	failure    TEXT NOT NULL,
	options    BLOB,
	fields     BLOB,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_sum ON files (sha256) WHERE sha256 <> '';

CREATE TABLE stores (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	metadata    BLOB,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	expires_at  INTEGER NOT NULL,
	in_progress INTEGER NOT NULL DEFAULT 0,
	completed   INTEGER NOT NULL DEFAULT 0,
	failed      INTEGER NOT NULL DEFAULT 0,
	cancelled   INTEGER NOT NULL DEFAULT 0,
	bytes       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX stores_expiry ON stores (expires_at) WHERE expires_at > 0;

CREATE TABLE members (
	store  TEXT NOT NULL,
	file   TEXT NOT NULL,
	status TEXT NOT NULL,
	bytes  INTEGER NOT NULL,
	PRIMARY KEY (store, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_file ON members (file);

CREATE TABLE changes (
	seq   INTEGER PRIMARY KEY AUTOINCREMENT,
	store TEXT NOT NULL,
	file  TEXT NOT NULL,
	UNIQUE (store, file)
) STRICT;

CREATE TABLE tasks (
	id         TEXT PRIMARY KEY,
	type       TEXT NOT NULL,
	status     TEXT NOT NULL,
	progress   REAL NOT NULL,
	resource   TEXT NOT NULL,
	failure    TEXT NOT NULL,
	tries      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	loose      INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_pending ON tasks (created_at, id) WHERE status = 'pending';
CREATE INDEX tasks_running ON tasks (id) WHERE status = 'running';
CREATE INDEX tasks_resource ON tasks (resource);
CREATE INDEX tasks_loose ON tasks (updated_at) WHERE loose = 1;

CREATE TRIGGER members_in AFTER INSERT ON members BEGIN
	UPDATE stores SET
		in_progress = in_progress + (NEW.status NOT IN ('completed', 'failed', 'cancelled')),
		completed = completed + (NEW.status = 'completed'),
		failed = failed + (NEW.status = 'failed'),
		cancelled = cancelled + (NEW.status = 'cancelled'),
		bytes = bytes + NEW.bytes
	WHERE id = NEW.store;
END;
CREATE TRIGGER members_out AFTER DELETE ON members BEGIN
	UPDATE stores SET
		in_progress = in_progress - (OLD.status NOT IN ('completed', 'failed', 'cancelled')),
		completed = completed - (OLD.status = 'completed'),
		failed = failed - (OLD.status = 'failed'),
		cancelled = cancelled - (OLD.status = 'cancelled'),
		bytes = bytes - OLD.bytes
	WHERE id = OLD.store;
END;
CREATE TRIGGER members_changed AFTER UPDATE OF status, bytes ON members BEGIN
	UPDATE stores SET
		in_progress = in_progress - (OLD.status NOT IN ('completed', 'failed', 'cancelled')) + (NEW.status NOT IN ('completed', 'failed', 'cancelled')),
		completed = completed - (OLD.status = 'completed') + (NEW.status = 'completed'),
		failed = failed - (OLD.status = 'failed') + (NEW.status = 'failed'),
		cancelled = cancelled - (OLD.status = 'cancelled') + (NEW.status = 'cancelled'),
		bytes = bytes - OLD.bytes + NEW.bytes
	WHERE id = NEW.store;
END;
`, `
ALTER TABLE tasks ADD COLUMN unfetched INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET unfetched = 1 WHERE resource IN (SELECT id FROM files WHERE sha256 = '');
DROP INDEX tasks_pending;
CREATE INDEX tasks_pending ON tasks (unfetched, created_at, id) WHERE status = 'pending';
CREATE TRIGGER files_fetched AFTER UPDATE OF sha256 ON files WHEN OLD.sha256 <> NEW.sha256 BEGIN
	UPDATE tasks SET unfetched = NEW.sha256 = '' WHERE resource = NEW.id;
END;
`, taskServers, sourceTables, "ALTER TABLE tasks ADD COLUMN delay INTEGER NOT NULL DEFAULT 0;" + taskQueue, ingestionTable}

// taskServers adds the server of a task, in both databases.
const taskServers = "ALTER TABLE tasks ADD COLUMN server TEXT NOT NULL DEFAULT ''"

// taskQueue sorts the pending tasks by the time at which they are due, in both databases.
const taskQueue = `
DROP INDEX tasks_pending;
CREATE INDEX tasks_pending ON tasks (unfetched, (` + taskDue + `), id) WHERE status = 'pending';
`

// taskDue is the time at which a task is due, in microseconds.
const taskDue = "CASE delay WHEN 0 THEN created_at ELSE updated_at + delay END"

// sourceTables adds the sources of documents, in both databases.
const sourceTables = `
CREATE TABLE sources (
	id     TEXT PRIMARY KEY,
	record TEXT NOT NULL
);
CREATE TABLE source_documents (
	source  TEXT NOT NULL,
	id      TEXT NOT NULL,
	uri     TEXT NOT NULL,
	version TEXT NOT NULL,
	hash    TEXT NOT NULL,
	sha256  TEXT NOT NULL,
	PRIMARY KEY (source, id)
);
`

// ingestionTable adds ingestions of files and folders on the disk, and finds the sources of documents, in both databases.
const ingestionTable = `
CREATE TABLE ingestions (
	id     TEXT PRIMARY KEY,
	record TEXT NOT NULL
);
CREATE INDEX source_documents_id ON source_documents (id);
`
