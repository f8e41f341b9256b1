package sqlstore

import "github.com/sluice-rag/sluice/session"

// migrations upgrade a file from each version to the next. A released migration must not change.
//
// The sequence number of a message is the key of its session, shifted, plus the number of the message in its session, from 1. So the messages of a
// session are next to each other in the order of their creation. The number 0 is used for what belongs to the session itself: it is the parent of the
// first messages, and the row of the title in words.
//
// The table words has the words of each title and message, separated by spaces. Its tokenizer splits only at the spaces, because the words are
// those of lang.Words, in lower case. It stores no positions. It has an index of short prefixes, without which a search for a prefix would merge the entries
// of thousands of words. With secure-delete, it removes words from its index when their row is deleted.
var migrations = []string{`
CREATE TABLE sessions (
	key        INTEGER PRIMARY KEY AUTOINCREMENT,
	account    TEXT NOT NULL,
	id         TEXT NOT NULL,
	title      TEXT NOT NULL,
	title_by   TEXT NOT NULL,
	archived   INTEGER NOT NULL,
	head       TEXT NOT NULL,
	turns      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	used_at    INTEGER NOT NULL,
	hidden     INTEGER NOT NULL -- 1: its runs are deleted with it; 2: they are kept
) STRICT;
CREATE UNIQUE INDEX sessions_id ON sessions (account, id) WHERE hidden = 0;
CREATE INDEX sessions_account ON sessions (account, archived, used_at) WHERE hidden = 0;
CREATE INDEX sessions_all ON sessions (archived, used_at) WHERE hidden = 0;
CREATE INDEX sessions_hidden ON sessions (key) WHERE hidden > 0;

CREATE TABLE messages (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	parent     INTEGER NOT NULL,
	depth      INTEGER NOT NULL,
	role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
	status     TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled', 'deleted')),
	at         INTEGER NOT NULL,
	owner      TEXT NOT NULL DEFAULT '',
	until      INTEGER NOT NULL DEFAULT 0,
	protocol   TEXT NOT NULL DEFAULT '',
	confidence REAL NOT NULL DEFAULT 0,
	abstained  INTEGER NOT NULL DEFAULT 0,
	ended_at   INTEGER NOT NULL DEFAULT 0,
	good       INTEGER,
	rated_at   INTEGER NOT NULL DEFAULT 0,
	reason     TEXT NOT NULL DEFAULT '',
	failure    TEXT NOT NULL DEFAULT '',
	tokens     TEXT NOT NULL DEFAULT '',
	asked      TEXT NOT NULL DEFAULT '',
	standalone TEXT NOT NULL DEFAULT '',
	text       TEXT NOT NULL DEFAULT '',
	summary    TEXT NOT NULL DEFAULT '',
	citations  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX messages_parent ON messages (parent);
CREATE UNIQUE INDEX messages_running ON messages (seq >> 24) WHERE status = 'running';
CREATE INDEX messages_open ON messages (seq) WHERE status IN ('queued', 'running');
CREATE INDEX messages_rated ON messages (id) WHERE good IS NOT NULL;

CREATE VIRTUAL TABLE words USING fts5 (text, detail = none, columnsize = 0, prefix = '1 2 3', tokenize = "ascii tokenchars '_.,-'''");
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
`}

// numberBits is the number of bits of a sequence number that count the messages of a session.
const numberBits = 24

// maxKey is the largest key of which sequence numbers can be made.
const maxKey = 1<<(63-numberBits) - 1

// bounds returns the sequence number of a session itself, and the largest one of its messages. For an invalid key, no message has these numbers.
func bounds(key session.Key) (first, last int64) {
	if key <= 0 || key > maxKey {
		return -1, -1
	}
	first = int64(key) << numberBits
	return first, first + 1<<numberBits - 1
}

// keyOf returns the session of a message.
func keyOf(seq int64) session.Key { return session.Key(seq >> numberBits) }
