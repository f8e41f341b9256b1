package cli

import (
	"context"
	"crypto/rand"
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
	"sync"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/ingest"
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

// Run listens, opens the data folder, and serves until it is told to stop. Documents are indexed meanwhile.
func (c *serveCmd) Run(e *env) (err error) {
	TuneRuntime()
	defer limitGarbage()()
	if c.NoCache {
		e.cfg.Cache.CacheBytes = 0
	}
	l, err := listen(e)
	if err != nil {
		return err
	}
	defer l.Close()
	instance := rand.Text()
	starting := server.NewStarting(l, server.Options{Protocols: app.Protocols(), Version: version(), Instance: instance})
	stop := sync.OnceFunc(starting.Stop)
	defer stop()
	url := "http://" + shown(l.Addr())
	fmt.Fprintln(e.Err, "listening on", url)
	a, err := app.Open(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	write, embed := a.Models.Names()
	e.logger.Info("models", "write", write, "embed", embed)
	a.KeepVectors()
	if err := a.OpenFiles(e.ctx); err != nil {
		return err
	}
	a.BeginIndexing()
	a.Instance = instance
	s, err := a.Server(version())
	if err != nil {
		return err
	}
	ready := make(chan struct{}) // closed when the documents are read: no resumed run is answered from a part of them
	if err := a.Recover(e.ctx, engine.Recovery{Fail: e.cfg.Start.Recover == "fail", Ready: ready}); err != nil {
		return err
	}
	stop()
	forget := announce(e, url, instance)
	defer forget()
	ctx, cancel := context.WithCancel(e.ctx)
	var indexing sync.WaitGroup
	indexing.Go(func() {
		indexDocs(ctx, e, a)
		if ctx.Err() == nil {
			close(ready)
		}
	})
	defer indexing.Wait()
	defer cancel()
	return s.Serve(e.ctx, l)
}

// indexDocs indexes the documents of the settings, and reads what the first question would wait for. What fails is logged: the
// server goes on with what is indexed.
func indexDocs(ctx context.Context, e *env, a *app.App) {
	defer a.EndIndexing()
	if docs := e.cfg.Ingest.Docs; len(docs) > 0 {
		if _, err := ingestPaths(ctx, e, a, docs); err != nil && ctx.Err() == nil {
			e.logger.Error("the documents are not indexed", "error", err)
		}
	}
	if err := a.Warm(ctx, e.cfg.Store.Collection); err != nil && ctx.Err() == nil {
		e.logger.Error("the collection could not be read", "error", err)
	}
}

func listen(e *env) (*net.TCPListener, error) {
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
	return l.(*net.TCPListener), nil
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

// TuneRuntime adjusts Go's runtime for many streams, unless GOGC, GOMEMLIMIT or GOMAXPROCS are set. A higher GOGC trades memory
// for less garbage collection, because streams allocate far more than they keep. GOMAXPROCS is raised by two because a thread
// that waits for the disk occupies its slot until the scheduler notices, some milliseconds later.
func TuneRuntime() {
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
	h, err := health(ctx, note.URL+"/healthz")
	return note.URL, err == nil && h.Instance == note.Instance
}

// maxOpening is how long a command waits for a server that is opening the data folder.
const maxOpening = 30 * time.Second

// awaitRunning is running for a data folder that is in use: it waits until the server has noted its address.
func awaitRunning(ctx context.Context, data string) (url string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxOpening)
	defer cancel()
	for {
		if url, ok = running(ctx, data); ok || wait(ctx, polling) != nil {
			return url, ok
		}
	}
}

// polling is the pause between two looks at a server that is starting.
const polling = 200 * time.Millisecond

// awaitAnswers waits until a server that is starting can answer questions, and shows how far it is.
func awaitAnswers(ctx context.Context, e *env, url string) error {
	show, done := progress(e, "the server is indexing")
	defer done()
	for {
		h, err := health(ctx, url+"/readyz")
		if err != nil || h.Progress == nil {
			return nil // the question will tell what is wrong
		}
		p := h.Progress
		if p.Answering {
			fmt.Fprintf(e.Err, "the server is still indexing (%d of %d files): the answer is from what is indexed so far\n", p.Done, p.Total)
			return nil
		}
		show(ingest.Progress{Done: p.Done, Total: p.Total})
		if err := wait(ctx, polling); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// health reads a health check, whatever its status.
func health(ctx context.Context, url string) (h server.Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return h, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	err = json.NewDecoder(res.Body).Decode(&h)
	return h, err
}
