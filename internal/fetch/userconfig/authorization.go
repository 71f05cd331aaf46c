package userconfig

import (
	"encoding/base64"
	"fmt"
)

// Basic is the Authorization header of a user and a password.
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// Bearer is the Authorization header for a token, "" for none. The setting is named in
// errors, the token never.
func Bearer(token, setting string) (string, error) {
	if err := checkHeader(token, setting); err != nil || token == "" {
		return "", err
	}
	return "Bearer " + token, nil
}

// checkHeader refuses what cannot stand in a header. The setting is named, the value never.
func checkHeader(value, setting string) error {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return fmt.Errorf("%s has characters that cannot be sent", setting)
		}
	}
	return nil
}
