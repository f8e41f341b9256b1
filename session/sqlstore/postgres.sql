-- Version 1 of the tables of sessions in PostgreSQL. They are those of schema.go; texts are compared by their bytes.
CREATE TABLE sessions (
	key        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account    TEXT COLLATE "C" NOT NULL,
	id         TEXT COLLATE "C" NOT NULL,
	title      TEXT NOT NULL,
	title_by   TEXT NOT NULL,
	archived   BOOLEAN NOT NULL,
	head       TEXT NOT NULL,
	turns      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL,
	hidden     BIGINT NOT NULL -- 1: its runs are deleted with it; 2: they are kept
);
CREATE UNIQUE INDEX sessions_id ON sessions (account, id) WHERE hidden = 0;
CREATE INDEX sessions_account ON sessions (account, archived, used_at, key) WHERE hidden = 0;
CREATE INDEX sessions_all ON sessions (archived, used_at, key) WHERE hidden = 0;
CREATE INDEX sessions_hidden ON sessions (key) WHERE hidden > 0;

CREATE TABLE messages (
	seq        BIGINT PRIMARY KEY,
	id         TEXT COLLATE "C" NOT NULL UNIQUE,
	parent     BIGINT NOT NULL,
	depth      BIGINT NOT NULL,
	role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
	status     TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled', 'deleted')),
	at         BIGINT NOT NULL,
	owner      TEXT NOT NULL DEFAULT '',
	until      BIGINT NOT NULL DEFAULT 0,
	protocol   TEXT NOT NULL DEFAULT '',
	confidence DOUBLE PRECISION NOT NULL DEFAULT 0,
	abstained  BOOLEAN NOT NULL DEFAULT FALSE,
	ended_at   BIGINT NOT NULL DEFAULT 0,
	good       BOOLEAN,
	rated_at   BIGINT NOT NULL DEFAULT 0,
	reason     TEXT NOT NULL DEFAULT '',
	failure    TEXT NOT NULL DEFAULT '',
	tokens     TEXT NOT NULL DEFAULT '',
	asked      TEXT NOT NULL DEFAULT '',
	standalone TEXT NOT NULL DEFAULT '',
	text       TEXT NOT NULL DEFAULT '',
	summary    TEXT NOT NULL DEFAULT '',
	citations  TEXT NOT NULL DEFAULT ''
);
CREATE INDEX messages_parent ON messages (parent, seq);
CREATE UNIQUE INDEX messages_running ON messages ((seq >> 24)) WHERE status = 'running';
CREATE INDEX messages_open ON messages (seq) WHERE status IN ('queued', 'running');
CREATE INDEX messages_rated ON messages (id) WHERE good IS NOT NULL;

-- The words of each title and message, separated by spaces. The vector has each word as it is, but not what follows the first 500 characters of a word
-- and the first 250,000 characters of a text: PostgreSQL limits words to 2046 bytes and vectors to 1 MB.
CREATE TABLE words (
	rowid BIGINT PRIMARY KEY,
	text  TEXT NOT NULL
);
CREATE FUNCTION vector(words TEXT) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
	SELECT array_to_tsvector(ARRAY(SELECT left(w, 500) FROM unnest(string_to_array(left(words, 250000), ' ')) w WHERE w <> ''))
$$;
CREATE INDEX words_vector ON words USING gin (vector(text));
