package registry

// MaxLater is how many of the later entries about a record are named, the newest.
const MaxLater = 100

// RecordEntries are the places in the log of what is about one record.
type RecordEntries struct {
	Index int64   `json:"index" doc:"Of the entry that published it"`
	Later []int64 `json:"later" doc:"Of its statuses and findings, oldest first; the newest 100"`
}
