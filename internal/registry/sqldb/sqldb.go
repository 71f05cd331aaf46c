// Package sqldb has what the databases of a registry share: the steps of their schemas, and what SQLite and PostgreSQL
// do alike with the records of archives, tokens and the entries of the log.
package sqldb
