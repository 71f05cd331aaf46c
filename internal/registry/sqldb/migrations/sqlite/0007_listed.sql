-- Lists pass over deleted records by an index alone: in the row the status lies behind
-- the document, which would be read to its end to find it.
CREATE INDEX servers_listed ON servers (name, version, status) WHERE status <> 'deleted';
CREATE INDEX servers_listed_latest ON servers (name, version, is_latest, status) WHERE is_latest = 1 AND status <> 'deleted';

-- As before, and with what lists filter by.
DROP INDEX servers_version;
CREATE INDEX servers_version ON servers (version, name, status);
DROP INDEX servers_updated;
CREATE INDEX servers_updated ON servers (updated_at, name, version, status, is_latest);
