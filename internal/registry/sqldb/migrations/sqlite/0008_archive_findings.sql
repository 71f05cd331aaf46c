-- The newest rows of archive_findings as they are answered, a JSON array.
ALTER TABLE archives ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';

-- What was found when archives were recomputed after publishing, as in findings. Rows are
-- only added.
CREATE TABLE archive_findings (
	id       INTEGER PRIMARY KEY, -- in the order of adding
	kind     TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	version  TEXT    NOT NULL,
	found_at INTEGER NOT NULL,
	build    TEXT    NOT NULL,
	evidence TEXT    NOT NULL, -- JSON array, in the form of package evidence
	FOREIGN KEY (kind, name, version) REFERENCES archives (kind, name, version)
) STRICT;

CREATE INDEX archive_findings_record ON archive_findings (kind, name, version, id);
