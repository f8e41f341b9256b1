package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

// probeTimeout is how long the server at the usual address has to tell that it is one.
const probeTimeout = 300 * time.Millisecond

// noteOtherServer tells users that a command uses the default data folder while a server runs that uses another one. Probably they have started it with --data, and forget that here. The question or
// file is not sent to that server, because it may be that of another user.
func noteOtherServer(e *env, command *kong.Node) {
	has := func(name string, value func(*kong.Flag) bool) bool {
		return slices.ContainsFunc(slices.Concat(command.AllFlags(true)...), func(f *kong.Flag) bool { return f.Name == name && value(f) })
	}
	takesServer := has("server", func(*kong.Flag) bool { return true })
	if command.Name == "serve" || !has("data", func(*kong.Flag) bool { return true }) || has("server", func(f *kong.Flag) bool { return !f.Target.IsZero() }) ||
		e.cfg.Store.Data != config.Default().Store.Data {
		return
	}
	host, port, err := net.SplitHostPort(e.cfg.HTTP.Addr)
	if ip := net.ParseIP(cmp.Or(host, "::")); err != nil || port == "0" || host != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()) {
		return
	} else if ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if _, ok := running(e.ctx, e.cfg.Store.Data); ok {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(host, port)
	if h, err := health(ctx, url+"/healthz"); err != nil || h.Instance == "" {
		return
	}
	if app.CheckFree(e.cfg.Store.Data) != nil {
		return // it may be the server that is starting with this folder
	}
	or := ""
	if takesServer {
		or = ", or add --server " + url
	}
	fmt.Fprintf(e.Err, "note: the server at %s uses another data folder than this command, which uses %s; to work with that server, name its folder with --data%s\n", url, e.cfg.Store.Data, or)
}
