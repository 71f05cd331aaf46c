-- The log of everything that was published: package ledger says what an entry is.
-- Rows are only added.
CREATE TABLE log_entries (
	idx     INTEGER PRIMARY KEY, -- from 0, without gaps
	kind    TEXT NOT NULL,
	name    TEXT NOT NULL,
	version TEXT NOT NULL,
	leaf    TEXT NOT NULL, -- canonical JSON
	hash    BLOB NOT NULL  -- of leaf, in the tree
) STRICT;

-- One entry at most for each thing published.
CREATE UNIQUE INDEX log_published ON log_entries (name, version, kind) WHERE kind NOT IN ('status', 'finding');

-- Roots of the complete subtrees of 256^level entries: what tiles are made of.
CREATE TABLE log_nodes (
	level INTEGER NOT NULL CHECK (level > 0),
	idx   INTEGER NOT NULL,
	hash  BLOB    NOT NULL,
	PRIMARY KEY (level, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_head (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	edge     BLOB    NOT NULL, -- size and right edge of the tree, as package ledger writes them
	complete INTEGER NOT NULL, -- 0 until what was there before the log has its entries
	signed   INTEGER NOT NULL, -- 1 once a checkpoint was signed, which is kept elsewhere
	cosigned TEXT              -- the newest checkpoint with signatures of witnesses
) STRICT;
INSERT INTO log_head VALUES (1, x'0000000000000000', 0, 0, NULL);
