-- Times are microseconds since 1970-01-01 UTC. Text compares by bytes, whatever the
-- database's own collation.

-- "answer" is the record as the API answers it, so that nothing has to be encoded for
-- a list or a get; every statement that changes another column changes it too. It
-- stays in the row up to 8 kB, uncompressed: a page would otherwise look up and unpack
-- each answer on its own.
CREATE TABLE servers (
	name              text    COLLATE "C" NOT NULL,
	version           text    COLLATE "C" NOT NULL,
	document_size     integer NOT NULL, -- bytes of the document in answer, after {"server":
	document_digest   text    NOT NULL, -- of the canonical form of the document
	evidence          bytea   NOT NULL, -- JSON array, in the form of package evidence
	verified_at       bigint,           -- null if nothing was checked
	build             text    NOT NULL, -- the version of the program that checked
	status            text    NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
	status_message    text    NOT NULL DEFAULT '' CHECK (length(status_message) <= 500),
	status_changed_at bigint  NOT NULL,
	published_at      bigint  NOT NULL,
	updated_at        bigint  NOT NULL,
	is_latest         boolean NOT NULL,
	answer            bytea   NOT NULL,
	PRIMARY KEY (name, version)
) WITH (toast_tuple_target = 8160);
ALTER TABLE servers ALTER COLUMN answer SET STORAGE EXTERNAL;

-- server.json as it was published, where answer has it without its white space.
CREATE TABLE originals (
	name     text  COLLATE "C" NOT NULL,
	version  text  COLLATE "C" NOT NULL,
	document bytea NOT NULL,
	PRIMARY KEY (name, version)
);

-- One latest version for each name, and the listing of them.
CREATE UNIQUE INDEX servers_latest ON servers (name) WHERE is_latest;

-- The listing of one version of every name.
CREATE INDEX servers_version ON servers (version, name);

-- What changed since a time, in the order of the list without reading answers.
CREATE INDEX servers_updated ON servers (updated_at, name, version);

-- Every name once. "grams" are all runs of three bytes of the name, ASCII letters in
-- lower case, each as one number: an index over them finds the names that hold a
-- text, without an extension that a database may lack. New names wait in a list of at
-- most 128 kB, which every search reads through, until they are sorted in together.
CREATE TABLE names (
	name     text      COLLATE "C" PRIMARY KEY,
	versions integer   NOT NULL CHECK (versions > 0),
	grams    integer[] NOT NULL
);
CREATE INDEX names_grams ON names USING gin (grams) WITH (gin_pending_list_limit = 128);
