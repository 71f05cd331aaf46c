-- Archives: facets, servers that are packed from source, plugins. Their bytes are blobs.
CREATE TABLE archives (
	kind              text    COLLATE "C" NOT NULL, -- as in the log
	name              text    COLLATE "C" NOT NULL,
	version           text    COLLATE "C" NOT NULL,
	content_integrity text    NOT NULL,
	content_hash      text    NOT NULL, -- under which the blob is kept
	size              bigint  NOT NULL, -- of the blob
	manifest          text    NOT NULL, -- as it stands in the archive
	document_digest   text    NOT NULL, -- of the canonical form of manifest
	assets            text    NOT NULL, -- JSON object of digests by path
	api_surface       text    NOT NULL, -- the publisher's claim, or empty
	publisher         text    NOT NULL,
	build             text    NOT NULL, -- the version of the program that recomputed
	status            text    NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
	status_message    text    NOT NULL CHECK (length(status_message) <= 500),
	status_entry      bigint,           -- in the log, of the newest change; null if there was none
	status_changed_at bigint  NOT NULL,
	published_at      bigint  NOT NULL,
	updated_at        bigint  NOT NULL,
	is_latest         boolean NOT NULL,
	PRIMARY KEY (kind, name, version)
);

-- One latest version for each name, and the listing of them.
CREATE UNIQUE INDEX archives_latest ON archives (kind, name) WHERE is_latest;

-- The versions of one name, newest first.
CREATE INDEX archives_published ON archives (kind, name, published_at, version);

-- Every name once, with its runs of three bytes, as in names.
CREATE TABLE archive_names (
	kind  text      COLLATE "C" NOT NULL,
	name  text      COLLATE "C" NOT NULL,
	grams integer[] NOT NULL,
	PRIMARY KEY (kind, name)
);
CREATE INDEX archive_names_grams ON archive_names USING gin (grams) WITH (gin_pending_list_limit = 128);
