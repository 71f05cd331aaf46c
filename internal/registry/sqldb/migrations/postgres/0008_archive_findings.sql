-- The newest rows of archive_findings as they are answered, a JSON array.
ALTER TABLE archives ADD COLUMN findings text NOT NULL DEFAULT '[]';

-- What was found when archives were recomputed after publishing, as in findings. Rows are
-- only added.
CREATE TABLE archive_findings (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of adding
	kind     text   COLLATE "C" NOT NULL,
	name     text   COLLATE "C" NOT NULL,
	version  text   COLLATE "C" NOT NULL,
	found_at bigint NOT NULL,
	build    text   NOT NULL,
	evidence text   NOT NULL, -- JSON array, in the form of package evidence
	FOREIGN KEY (kind, name, version) REFERENCES archives (kind, name, version)
);

CREATE INDEX archive_findings_record ON archive_findings (kind, name, version, id);
