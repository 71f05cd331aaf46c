package registry

// Session is the answer to a login.
type Session struct {
	Token     string `json:"registry_token" doc:"For Authorization: Bearer"`
	ExpiresAt int64  `json:"expires_at" doc:"Seconds since 1970"`
}
