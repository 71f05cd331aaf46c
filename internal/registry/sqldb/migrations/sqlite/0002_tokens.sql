-- API tokens. Of a token only the SHA-256 of its text is kept.

CREATE TABLE tokens (
	id          TEXT    NOT NULL PRIMARY KEY,
	hash        TEXT    NOT NULL UNIQUE, -- hexadecimal
	note        TEXT    NOT NULL,
	permissions TEXT    NOT NULL,        -- JSON array of {action, resource}
	created_at  INTEGER NOT NULL,
	expires_at  INTEGER,                 -- null: never
	revoked_at  INTEGER                  -- null: not revoked
) STRICT;
