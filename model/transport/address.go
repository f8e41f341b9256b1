package transport

import (
	"errors"
	"net/url"
	"strings"
)

// Address parses the URL of a server: http or https, with a host. Its errors do not repeat it, as it may hold a password.
func Address(given string) (*url.URL, error) {
	u, err := url.Parse(given)
	switch {
	case err != nil:
		return nil, errors.New("read the model's URL: it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("read the model's URL: it must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("read the model's URL: it has no host")
	}
	u.RawPath = ""
	return u, nil
}

// CheckKey checks that a key can be sent in a header. Its error does not repeat it.
func CheckKey(key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("read the model's key: it has characters that a key cannot have")
	}
	return nil
}
