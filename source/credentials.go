package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/fault"
)

// reference is the form of a reference to credentials. The variables have a prefix, so that no other secret of the server can be named.
var reference = regexp.MustCompile(`^(env:SLUICE_SOURCE_[A-Z0-9_]{1,100}|file:[A-Za-z0-9_][A-Za-z0-9._-]{0,99})$`)

// maxCredentials limits a file of credentials, in bytes.
const maxCredentials = 16 << 10

func checkReference(text string) error {
	if text != "" && !reference.MatchString(text) {
		return fault.Invalid("credentials", "want env:SLUICE_SOURCE_NAME, a variable of the server, or file:NAME, a file in the folder source-credentials of its data folder")
	}
	return nil
}

// credentials returns what a reference names, without space around it. The folder has the files. Errors do not contain what was read.
func credentials(text, folder string) (string, error) {
	if err := checkReference(text); err != nil || text == "" {
		return "", err
	}
	where, name, _ := strings.Cut(text, ":")
	var secret string
	if where == "env" {
		secret = os.Getenv(name)
	} else {
		data, err := readIn(folder, name)
		if err != nil {
			return "", fault.New(fault.Unavailable, "the credentials %s cannot be read: the server has no such file, or may not read it", text)
		}
		secret = string(data)
	}
	if secret = strings.TrimSpace(secret); secret == "" {
		return "", fault.New(fault.Unavailable, "the credentials %s are empty or not set at the server", text)
	}
	return secret, nil
}

// readIn reads a small regular file in a folder. Links must not lead out of the folder.
func readIn(folder, name string) (data []byte, err error) {
	if folder == "" {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, maxCredentials+1)); err == nil && len(data) > maxCredentials {
		err = fs.ErrInvalid
	}
	return data, err
}

// open returns the connector of a location, with the credentials that a reference names.
func (k Kind) open(location, ref, folder string) (Connector, error) {
	if ref == "" {
		return k.Open(location)
	}
	if k.OpenWith == nil {
		return nil, errNoCredentials
	}
	secret, err := credentials(ref, folder)
	if err != nil {
		return nil, err
	}
	return k.OpenWith(location, secret)
}

var errNoCredentials = fault.Invalid("credentials", "sources of this kind have none")

// checkCredentials checks a reference of a new source. Only those who may read the disk of the server may name credentials: others could send them to a server of theirs.
func (k Kind) checkCredentials(ref string, local bool) error {
	switch {
	case ref == "":
		return nil
	case k.OpenWith == nil:
		return errNoCredentials
	case !local:
		return fault.New(fault.Forbidden, "credentials of the server can be named by \"sluice sources add\" on its machine, or with a key of the scope tenants").Of("credentials")
	}
	return checkReference(ref)
}

// UserPassword returns the parts of credentials of the form USER:PASSWORD. The error is of the type [fault.Error].
func UserPassword(credentials string) (user, password string, err error) {
	user, password, ok := strings.Cut(credentials, ":")
	if !ok || user == "" || password == "" {
		return "", "", fault.New(fault.InvalidRequest, "the credentials of the source are not of the form USER:PASSWORD")
	}
	return user, password, nil
}
