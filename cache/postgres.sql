CREATE TABLE entries (
	id       BIGINT PRIMARY KEY,
	question BYTEA NOT NULL UNIQUE,
	created  BIGINT NOT NULL,
	version  BIGINT NOT NULL,
	entry    BYTEA NOT NULL
);
CREATE TABLE dependencies (
	hash     BYTEA NOT NULL,
	question BYTEA NOT NULL REFERENCES entries (question) ON DELETE CASCADE,
	PRIMARY KEY (hash, question)
);
CREATE INDEX dependencies_question ON dependencies (question);
CREATE TABLE deletions (n BIGINT NOT NULL);
INSERT INTO deletions VALUES (0);
