-- The log of everything that was published: package ledger says what an entry is.
-- Rows are only added.
CREATE TABLE log_entries (
	idx     bigint PRIMARY KEY, -- from 0, without gaps
	kind    text   NOT NULL,
	name    text   COLLATE "C" NOT NULL,
	version text   COLLATE "C" NOT NULL,
	leaf    bytea  NOT NULL, -- canonical JSON
	hash    bytea  NOT NULL  -- of leaf, in the tree
);

-- One entry at most for each thing published.
CREATE UNIQUE INDEX log_published ON log_entries (name, version, kind) WHERE kind NOT IN ('status', 'finding');

-- Roots of the complete subtrees of 256^level entries: what tiles are made of.
CREATE TABLE log_nodes (
	level integer NOT NULL CHECK (level > 0),
	idx   bigint  NOT NULL,
	hash  bytea   NOT NULL,
	PRIMARY KEY (level, idx)
);

-- One row, which every append changes: room in its page keeps that from growing.
CREATE TABLE log_head (
	one      boolean PRIMARY KEY CHECK (one),
	edge     bytea   NOT NULL, -- size and right edge of the tree, as package ledger writes them
	complete boolean NOT NULL, -- false until what was there before the log has its entries
	signed   boolean NOT NULL, -- true once a checkpoint was signed, which is kept elsewhere
	cosigned bytea             -- the newest checkpoint with signatures of witnesses
) WITH (fillfactor = 50);
INSERT INTO log_head VALUES (true, '\x0000000000000000', false, false, NULL);
