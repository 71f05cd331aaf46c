package registry

// About is what a registry says of itself. FileHashes is empty if it does not know
// file_hashes; then it refuses documents that have the member.
type About struct {
	Version    string     `json:"version"`
	Commit     string     `json:"git_commit"`
	Built      string     `json:"build_time"`
	FileHashes Validation `json:"file_hashes,omitempty" enum:"off,observe,enforce"`
	LogKey     string     `json:"log_key,omitempty" doc:"Verifier key of the registry's log, for who asks for it the first time"`
}
