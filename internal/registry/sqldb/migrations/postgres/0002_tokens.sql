-- API tokens. Of a token only the SHA-256 of its text is kept.

CREATE TABLE tokens (
	id          text   NOT NULL PRIMARY KEY,
	hash        text   NOT NULL UNIQUE, -- hexadecimal
	note        text   NOT NULL,
	permissions text   NOT NULL,        -- JSON array of {action, resource}
	created_at  bigint NOT NULL,
	expires_at  bigint,                 -- null: never
	revoked_at  bigint                  -- null: not revoked
);
