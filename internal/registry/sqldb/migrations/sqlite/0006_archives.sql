-- Archives: facets, servers that are packed from source, plugins. Their bytes are blobs.
CREATE TABLE archives (
	kind              TEXT    NOT NULL, -- as in the log
	name              TEXT    NOT NULL,
	version           TEXT    NOT NULL,
	content_integrity TEXT    NOT NULL,
	content_hash      TEXT    NOT NULL, -- under which the blob is kept
	size              INTEGER NOT NULL, -- of the blob
	manifest          TEXT    NOT NULL, -- as it stands in the archive
	document_digest   TEXT    NOT NULL, -- of the canonical form of manifest
	assets            TEXT    NOT NULL, -- JSON object of digests by path
	api_surface       TEXT    NOT NULL, -- the publisher's claim, or empty
	publisher         TEXT    NOT NULL,
	build             TEXT    NOT NULL, -- the version of the program that recomputed
	status            TEXT    NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
	status_message    TEXT    NOT NULL CHECK (length(status_message) <= 500),
	status_entry      INTEGER,          -- in the log, of the newest change; null if there was none
	status_changed_at INTEGER NOT NULL,
	published_at      INTEGER NOT NULL,
	updated_at        INTEGER NOT NULL,
	is_latest         INTEGER NOT NULL CHECK (is_latest IN (0, 1)),
	PRIMARY KEY (kind, name, version)
) STRICT;

-- One latest version for each name, and the listing of them.
CREATE UNIQUE INDEX archives_latest ON archives (kind, name) WHERE is_latest;

-- The versions of one name, newest first.
CREATE INDEX archives_published ON archives (kind, name, published_at, version);

-- Every name once, by all its parts of three characters.
CREATE VIRTUAL TABLE archive_names USING fts5 (name, kind UNINDEXED, tokenize = 'trigram');
