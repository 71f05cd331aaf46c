package sqlite

import "database/sql"

// Writer is the one connection that writes.
func (s *DB) Writer() *sql.DB { return s.write }
