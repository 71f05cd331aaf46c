-- Where a record was imported from, and when; empty and null if it was published here.
ALTER TABLE servers ADD COLUMN origin text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN imported_at bigint;

-- The newest rows of findings as they are answered, a JSON array, from which the answer
-- can be rendered again.
ALTER TABLE servers ADD COLUMN findings bytea NOT NULL DEFAULT '[]';

-- What was found when claims were recomputed after publishing. Rows are only added.
CREATE TABLE findings (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of adding
	name     text   COLLATE "C" NOT NULL,
	version  text   COLLATE "C" NOT NULL,
	found_at bigint NOT NULL,
	build    text   NOT NULL,
	evidence bytea  NOT NULL, -- JSON array, in the form of package evidence
	FOREIGN KEY (name, version) REFERENCES servers (name, version)
);

CREATE INDEX findings_record ON findings (name, version, id);

-- How far an import from another registry has come.
CREATE TABLE imports (
	source text   COLLATE "C" PRIMARY KEY, -- the registry's URL
	cursor text   NOT NULL,                -- of the next page, or empty between imports
	since  bigint,                         -- what changed upstream before is here; null if nothing is
	began  bigint                          -- when the import that cursor belongs to began
);
