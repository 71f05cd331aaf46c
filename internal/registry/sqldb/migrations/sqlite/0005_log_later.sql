-- What the log says of a version after it was published.
CREATE INDEX log_later ON log_entries (name, version, idx) WHERE kind IN ('status', 'finding');
