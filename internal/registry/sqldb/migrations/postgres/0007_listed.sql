-- Lists pass over deleted records without reading their rows, of up to 8 kB each.
CREATE INDEX servers_listed ON servers (name, version) WHERE status <> 'deleted';
CREATE INDEX servers_listed_latest ON servers (name) WHERE is_latest AND status <> 'deleted';
