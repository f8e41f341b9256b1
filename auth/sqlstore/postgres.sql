-- Version 1 of the tables of keys in PostgreSQL. They are those of sqlite.go; texts are compared by their bytes.
CREATE TABLE keys (
	id           TEXT COLLATE "C" PRIMARY KEY,
	tenant       TEXT COLLATE "C" NOT NULL,
	account      TEXT COLLATE "C" NOT NULL,
	name         TEXT NOT NULL,
	scopes       TEXT NOT NULL,
	origins      TEXT NOT NULL,
	collections  TEXT NOT NULL,
	rate         BIGINT NOT NULL,
	rate_unit    TEXT NOT NULL,
	quota        BIGINT NOT NULL,
	quota_unit   TEXT NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	revoked_at   BIGINT NOT NULL,
	used_at      BIGINT NOT NULL,
	hash         BYTEA NOT NULL,
	old_hash     BYTEA NOT NULL,
	old_until    BIGINT NOT NULL,
	quota_window TEXT NOT NULL DEFAULT '',
	questions    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX keys_origins ON keys (id) WHERE origins <> '[]';

CREATE TABLE sessions (
	hash       BYTEA PRIMARY KEY,
	key        TEXT COLLATE "C" NOT NULL,
	expires_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	tenant     TEXT COLLATE "C" NOT NULL DEFAULT '', -- these three: of a login without a key
	account    TEXT COLLATE "C" NOT NULL DEFAULT '',
	scopes     TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX sessions_key ON sessions (key);
CREATE INDEX sessions_expiry ON sessions (expires_at);
