package registry

import "database/sql"

// Writer is the one connection that writes.
func (s *SQLite) Writer() *sql.DB { return s.write }
