package userconfig

import (
	"encoding/base64"
	"fmt"
)

// Basic returns the Authorization header of a user and a password.
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// Bearer returns the Authorization header for a token, "" for none. Errors name the setting, and
// never show the token.
func Bearer(token, setting string) (string, error) {
	if err := checkHeader(token, setting); err != nil || token == "" {
		return "", err
	}
	return "Bearer " + token, nil
}

// checkHeader refuses a value that cannot be in a header. The error names the setting, and
// does not show the value.
func checkHeader(value, setting string) error {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return fmt.Errorf("%s has characters that cannot be sent", setting)
		}
	}
	return nil
}
