-- Version 2: the rates of keys, which all servers count together. Losing them in a crash resets them, so the table needs no log.
CREATE UNLOGGED TABLE rates (
	key     TEXT COLLATE "C" PRIMARY KEY,
	full_at BIGINT NOT NULL -- nanoseconds since 1970
) WITH (fillfactor = 50);
