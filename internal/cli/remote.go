package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/config"
)

// keyFlag is the key of commands that use a server.
type keyFlag struct {
	Key config.Secret `name:"key" placeholder:"KEY" help:"API key for the server. Prefer the variable SLUICE_KEY with --server, because other users of the machine can see flags. The server that uses the data folder needs none."`
}

// remote is a server and the key for it.
type remote struct {
	url string
	key config.Secret
}

// over returns the server with the key of the flag, if it is set. A server that was given without a key gets that of SLUICE_KEY, which is
// not for the server that uses the data folder.
func (f keyFlag) over(at remote) remote {
	switch {
	case f.Key != "":
		at.key = f.Key
	case at.key == "":
		at.key = config.Secret(os.Getenv("SLUICE_KEY"))
	}
	return at
}

// client returns a client of the server.
func (r remote) client() (*client.Client, error) {
	c, err := client.New(r.url, client.Options{Key: r.key.Reveal()})
	if err != nil {
		err = usagef("--server: %w", err)
	}
	return c, err
}

// unreachable returns an error of a request that reached no server with the address of the server in place of the request. Other errors are returned unchanged.
func unreachable(err error) error {
	failed, isRequest := errors.AsType[*url.Error](err)
	if op, isOp := errors.AsType[*net.OpError](err); isRequest && isOp && op.Op == "dial" {
		if at, e := url.Parse(failed.URL); e == nil {
			text := fmt.Sprintf("no server answers at %s://%s: %s", at.Scheme, at.Host, op.Err)
			return errors.New(strings.Replace(err.Error(), failed.Error(), text, 1))
		}
	}
	return err
}
