-- Times are microseconds since 1970-01-01 UTC. Text compares by bytes.

CREATE TABLE servers (
	name              TEXT    NOT NULL,
	version           TEXT    NOT NULL,
	document          TEXT    NOT NULL, -- server.json as it was published
	document_digest   TEXT    NOT NULL, -- of the canonical form of document
	evidence          TEXT    NOT NULL, -- JSON array, in the form of package evidence
	verified_at       INTEGER,          -- null if nothing was checked
	build             TEXT    NOT NULL, -- the version of the program that checked
	status            TEXT    NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
	status_message    TEXT    NOT NULL DEFAULT '' CHECK (length(status_message) <= 500),
	status_changed_at INTEGER NOT NULL,
	published_at      INTEGER NOT NULL,
	updated_at        INTEGER NOT NULL,
	is_latest         INTEGER NOT NULL CHECK (is_latest IN (0, 1)),
	PRIMARY KEY (name, version)
) STRICT;

-- One latest version for each name, and the listing of them.
CREATE UNIQUE INDEX servers_latest ON servers (name) WHERE is_latest = 1;

-- The versions of one name, newest first.
CREATE INDEX servers_published ON servers (name, published_at, version);

-- The listing of one version of every name.
CREATE INDEX servers_version ON servers (version, name);

-- What changed since a time, in the order of the list without reading documents.
CREATE INDEX servers_updated ON servers (updated_at, name, version);

-- Every name once, by all its parts of three characters.
CREATE VIRTUAL TABLE server_names USING fts5 (name, tokenize = 'trigram');
