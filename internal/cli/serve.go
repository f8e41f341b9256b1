package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
)

type serveCmd struct {
	config.Store
	config.Ingest
	config.HTTP
	config.Runs
	config.Models
	config.Cache
	config.Files
	config.Keep
	config.Start
	NoCache bool `name:"no-cache" help:"Answer every question anew, and in a run of its own."`
}

// Run indexes, listens, and serves until it is told to stop.
func (c *serveCmd) Run(e *env) (err error) {
	tuneRuntime()
	if c.NoCache {
		e.cfg.Cache.CacheBytes = 0
	}
	// The address is tried before the documents are read: who has given a wrong one need not wait to hear it.
	l, err := listen(e)
	if err != nil {
		return err
	}
	_ = l.Close() // a connection would get no answer until the documents are read
	a, err := app.Open(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	ready := make(chan struct{}) // closed when the documents are read: no resumed run is answered from a part of them
	if err := a.Recover(e.ctx, sluice.Recovery{Fail: e.cfg.Start.Recover == "fail", Ready: ready}); err != nil {
		return err
	}
	write, embed := a.Models.Names()
	e.logger.Info("models", "write", write, "embed", embed)
	a.KeepVectors()
	if len(e.cfg.Ingest.Docs) > 0 {
		if _, err := ingestPaths(e, a, e.cfg.Ingest.Docs); err != nil {
			if e.ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	if err := a.OpenFiles(e.ctx); err != nil {
		return err
	}
	s, err := a.Server(version())
	if err != nil {
		return err
	}
	if l, err = listen(e); err != nil {
		return err
	}
	defer l.Close()
	if err := a.Warm(e.ctx, e.cfg.Store.Collection); err != nil && e.ctx.Err() == nil {
		return err
	}
	close(ready)
	url := "http://" + shown(l.Addr())
	forget := announce(e, url, s.Instance())
	defer forget()
	fmt.Fprintln(e.Err, "listening on", url)
	return s.Serve(e.ctx, l)
}

func listen(e *env) (net.Listener, error) {
	var lc net.ListenConfig
	addr := e.cfg.HTTP.Addr
	l, err := lc.Listen(e.ctx, "tcp", addr)
	// Windows has a number of its own, which package syscall does not name.
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.Errno(10048)) {
		return nil, fmt.Errorf("listen: the address %s is already in use; choose another with --addr, such as --addr %s", addr, freeAddr(e.ctx, addr))
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// freeAddr returns an address of the same host whose port is free: one of the next ports, or port 0, for which the system
// chooses one.
func freeAddr(ctx context.Context, addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	for p := n + 1; p <= min(n+20, 65535); p++ {
		next := net.JoinHostPort(host, strconv.Itoa(p))
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", next); err == nil {
			_ = l.Close()
			return next
		}
	}
	return net.JoinHostPort(host, "0")
}

// tuneRuntime suits Go's runtime to streams. The user's own GOGC, GOMEMLIMIT and GOMAXPROCS stand. Memory is traded for less
// work of the collector, since what lives is small beside what streams leave behind. A thread that waits for the disk keeps
// its place among the running ones until the runtime notices, milliseconds later; with two places more, streams do not wait
// for it.
func tuneRuntime() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
	}
}

// shown is an address as a client on this machine can use it.
func shown(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return a.String()
}

// serverFile tells, in the data folder, where the server that has it open can be reached.
const serverFile = "server.json"

type serverNote struct {
	URL string `json:"url"`
	// Instance is that of the server's health check: at the address there may be another one by now.
	Instance string `json:"instance"`
}

// announce writes the server's address for commands that use the same data folder, and gives what removes it.
func announce(e *env, url, instance string) (forget func()) {
	path := filepath.Join(e.cfg.Store.Data, serverFile)
	note, err := json.Marshal(serverNote{URL: url, Instance: instance})
	if err == nil {
		err = os.WriteFile(path, note, 0o600)
	}
	if err != nil {
		e.logger.Warn("the server's address could not be noted", "error", err)
	}
	return func() { _ = os.Remove(path) }
}

// running gives the address of the server that has the data folder open, if one answers.
func running(ctx context.Context, data string) (url string, ok bool) {
	raw, err := os.ReadFile(filepath.Join(data, serverFile))
	var note serverNote
	if err != nil || json.Unmarshal(raw, &note) != nil || note.URL == "" {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, note.URL+"/healthz", nil)
	if err != nil {
		return "", false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	var h server.Health
	return note.URL, res.StatusCode == http.StatusOK && json.NewDecoder(res.Body).Decode(&h) == nil && h.Instance == note.Instance
}
