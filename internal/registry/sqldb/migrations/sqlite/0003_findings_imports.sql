-- Where a record was imported from, and when; empty and null if it was published here.
ALTER TABLE servers ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN imported_at INTEGER;

-- The newest rows of findings as they are answered, a JSON array, so that answering a
-- record reads one row.
ALTER TABLE servers ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';

-- What was found when claims were recomputed after publishing. Rows are only added.
CREATE TABLE findings (
	id       INTEGER PRIMARY KEY, -- in the order of adding
	name     TEXT    NOT NULL,
	version  TEXT    NOT NULL,
	found_at INTEGER NOT NULL,
	build    TEXT    NOT NULL,
	evidence TEXT    NOT NULL, -- JSON array, in the form of package evidence
	FOREIGN KEY (name, version) REFERENCES servers (name, version)
) STRICT;

CREATE INDEX findings_record ON findings (name, version, id);

-- How far an import from another registry has come.
CREATE TABLE imports (
	source TEXT    PRIMARY KEY, -- the registry's URL
	cursor TEXT    NOT NULL,    -- of the next page, or empty between imports
	since  INTEGER,             -- what changed upstream before is here; null if nothing is
	began  INTEGER              -- when the import that cursor belongs to began
) STRICT;
