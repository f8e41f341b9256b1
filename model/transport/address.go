package transport

import (
	"errors"
	"net/url"
	"strings"
)

// Address reads where a server stands: http or https, with a host. Its errors do not repeat it, as it may hold a password.
func Address(given string) (*url.URL, error) {
	u, err := url.Parse(given)
	switch {
	case err != nil:
		return nil, errors.New("read the model's URL: it is not one")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("read the model's URL: it must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("read the model's URL: it names no host")
	}
	u.RawPath = ""
	return u, nil
}

// CheckKey says whether a key can be sent in a header. Its error does not repeat it.
func CheckKey(key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("read the model's key: it holds characters that no key has")
	}
	return nil
}
