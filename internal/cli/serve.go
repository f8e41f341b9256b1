package cli

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/access"
	"github.com/sluice-rag/sluice/source"
)

// serverSettings are the settings of commands that run a server.
type serverSettings struct {
	answerSettings
	config.Files
	config.Keep
}

type serveCmd struct {
	serverSettings
	config.HTTP
	config.Start
	config.Tenants
	config.Billing
	config.OIDC
	NoCache  bool `name:"no-cache" help:"Disable the cache, also for concurrent equal questions."`
	Insecure bool `name:"insecure" help:"Listen on an address that others can reach although there is no API key: everybody who reaches it can read and change everything. Also needed for --metrics-addr on such an address."`
}

// Run serves until the context ends, and logs when it stops.
func (c *serveCmd) Run(e *env) (err error) {
	defer logStop(e, &err)()
	return c.serve(e)
}

// serve listens, opens the data folder, indexes the documents in the background, and serves until the context ends.
func (c *serveCmd) serve(e *env) (err error) {
	TuneRuntime()
	defer limitServerMemory()()
	if c.NoCache {
		e.cfg.Cache.CacheBytes = 0
	}
	if err := app.CheckFree(e.cfg.Store.Data); err != nil { // before the address, which the same server may use
		return err
	}
	l, err := listen(e)
	if err != nil {
		return err
	}
	defer l.Close()
	keys, err := app.HasKeys(e.ctx, e.cfg.Store)
	if err != nil {
		return err
	}
	closed := keys || e.cfg.OIDC.Issuer != "" // every request needs a key or a login
	if err := access.CheckListen(l.Addr(), closed, c.Insecure); err != nil {
		return err
	}
	metrics, err := listenMetrics(e, c.Insecure)
	if err != nil {
		return err
	}
	if metrics != nil {
		defer metrics.Close()
	}
	instance, token := rand.Text(), newToken()
	starting := server.NewStarting(l, server.Options{Protocols: app.Protocols(), Forms: app.Forms(), Version: version(), Instance: instance})
	stop := sync.OnceFunc(starting.Stop)
	defer stop()
	url := "http://" + clientAddr(l.Addr())
	fmt.Fprintln(e.Err, "listening on", url)
	if !access.Loopback(l.Addr()) {
		fmt.Fprintln(e.Err, "other machines can connect to", l.Addr())
	}
	if !closed {
		fmt.Fprintln(e.Err, "no key is needed: everybody who reaches this address can read and change everything; \"sluice keys add\" adds the first key")
	}
	shared, err := app.OpenShared(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	if err := shared.OpenAccess(e.ctx, token, closed || !c.Insecure && !access.Loopback(l.Addr())); err != nil {
		return err
	}
	write, embed := shared.Models.Names()
	e.logger.Info("models", "write", write, "embed", embed)
	tenants, err := app.OpenTenants(e.ctx, shared, version(), instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tenants.Close()) }()
	a := tenants.Default
	a.BeginIndexing()
	ready := make(chan struct{}) // closed when the documents are indexed, so that resumed runs search all of them
	if err := a.Recover(e.ctx, engine.Recovery{Fail: e.cfg.Start.Recover == "fail", Ready: ready}); err != nil {
		return err
	}
	tenants.Start()
	front := tenants.Front(shared.Access.Handler)
	stop()
	withdraw := announce(e, serverInfo{url, instance, token})
	defer withdraw()
	ctx, cancel := context.WithCancel(e.ctx)
	var background sync.WaitGroup
	background.Go(func() {
		<-watchDocs(ctx, e, a, &background)
		indexAll(ctx, e, a, ready)
	})
	defer background.Wait()
	defer cancel()
	if metrics != nil {
		background.Go(func() { _ = front.ServeMetrics(ctx, metrics) }) // an error closes only this listener
	}
	return serveNamed(e.ctx, shared, front, l)
}

// logStop logs when a signal stops the server. The function that it returns logs that it has stopped, unless there is an error.
func logStop(e *env, err *error) (stopped func()) {
	unused := context.AfterFunc(e.ctx, func() { e.logger.Info("stopping; a second signal ends the server at once") })
	return func() {
		if !unused() && *err == nil {
			e.logger.Info("stopped")
		}
	}
}

// inUseBy adds to [app.ErrInUse] what to do, unless a command has. Other errors are returned as they are.
func inUseBy(e *env, err error) error {
	if !errors.Is(err, app.ErrInUse) || !strings.HasSuffix(err.Error(), app.ErrInUse.Error()) {
		return err
	}
	by := ""
	if at, ok := running(e.ctx, e.cfg.Store.Data); ok {
		by = ", the server at " + at.url
	}
	return fmt.Errorf("%w%s: stop it, wait until it ends, or choose another folder with --data", err, by)
}

// serveNamed serves until the context ends, or until another server turns out to have the same name.
func serveNamed(ctx context.Context, shared *app.Shared, front *server.Front, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(shared.Named(), func() { stop(context.Cause(shared.Named())) })()
	return errors.Join(front.Serve(ctx, l), context.Cause(shared.Named()))
}

// listenMetrics listens on the address for metrics, on a loopback interface if it has no host. It returns nil if there is no address.
func listenMetrics(e *env, insecure bool) (net.Listener, error) {
	addr := e.cfg.HTTP.MetricsAddr
	if addr == "" {
		return nil, nil
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	l, err := new(net.ListenConfig).Listen(e.ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w", err)
	}
	if !insecure && !access.Loopback(l.Addr()) {
		return nil, errors.Join(fmt.Errorf("listen for metrics on %s: everybody who reaches this address could read the metrics, because they need no key there; "+
			"listen on 127.0.0.1, read /metrics with a key of the scope admin, or confirm it with --insecure", l.Addr()), l.Close())
	}
	fmt.Fprintf(e.Err, "metrics on http://%s/metrics\n", l.Addr())
	return l, nil
}

// watchDocs watches the configured documents and indexes changes in the background, if --watch is set. The returned channel is closed when the watch has begun, or if there is none.
func watchDocs(ctx context.Context, e *env, a *app.App, background *sync.WaitGroup) <-chan struct{} {
	ready := make(chan struct{})
	if docs := e.cfg.Ingest.Docs; e.cfg.Start.Watch && len(docs) > 0 {
		background.Go(func() {
			a.WatchDocs(ctx, docs, func() { close(ready) }, func(r ingest.Report, err error, again time.Duration) {
				switch {
				case err != nil:
					e.logger.Error("could not index changes of the documents; it is tried again", "error", err, "after", again.Round(time.Second/10).String())
					logFailures(e, r.Failed)
				case r.Added+r.Updated+r.Deleted+r.NotRemoved+len(r.Failed) > 0:
					logReport(e, r)
				}
			})
		})
	} else {
		close(ready)
	}
	return ready
}

func logFailures(e *env, failures []ingest.Failure) {
	for _, f := range failures {
		e.logger.Warn("not indexed", "collection", e.cfg.Store.Collection, "file", f.Path, "reason", f.Reason)
	}
}

// logReport logs the result of an ingestion.
func logReport(e *env, report ingest.Report) {
	logger := e.logger.With("collection", e.cfg.Store.Collection)
	logFailures(e, report.Failed)
	if report.Unembedded > 0 {
		logger.Warn("chunks without vectors: only lexical search finds them until the embedder answers", "chunks", report.Unembedded, "reason", report.EmbedFailure)
	}
	if report.NotRemoved > 0 {
		logger.Warn(ingest.KeptMessage(report.NotRemoved, source.ConfirmPaths), "documents", report.NotRemoved)
	}
	logger.Info("documents indexed", "added", report.Added, "updated", report.Updated, "unchanged", report.Unchanged,
		"deleted", report.Deleted, "ignored", report.Ignored, "failed", len(report.Failed), "chunks", report.Chunks,
		"ms", report.Duration.Milliseconds())
}

// indexAll calls indexDocs until nothing fails. It closes ready after the first time.
func indexAll(ctx context.Context, e *env, a *app.App, ready chan<- struct{}) {
	again := indexDocs(ctx, e, a)
	if ctx.Err() == nil {
		close(ready)
	}
	for again > 0 && waitFor(ctx, again) == nil {
		again = indexDocs(ctx, e, a)
	}
}

// indexDocs indexes the configured documents and warms the caches of the collection. Errors are logged: the server continues with
// what is indexed. It returns after what time to try again; zero: all is indexed.
func indexDocs(ctx context.Context, e *env, a *app.App) (again time.Duration) {
	defer a.EndIndexing()
	if docs := e.cfg.Ingest.Docs; len(docs) > 0 {
		show, done := progressLines(e, "indexing", func(p ingest.Progress) { e.logger.Info("indexing", "done", p.Done, "of", p.Total, "bytes", p.Bytes) })
		_, report, err := ingestPaths(ctx, a, docs, false, show)
		done()
		if err != nil {
			logFailures(e, report.Failed)
		} else {
			logReport(e, report)
			a.Docs.NoteUnread(nil, report.Failed)
		}
		if again = a.Docs.Ended(err); err != nil && ctx.Err() == nil {
			e.logger.Error("could not index all documents; it is tried again", "error", err, "after", again.Round(time.Second/10).String())
		}
		if n := len(report.Failed); n > 0 {
			fmt.Fprintf(e.Err, "--docs: %d not indexed, such as %s: %s; \"sluice sources list\" shows them\n", n, report.Failed[0].Path, report.Failed[0].Reason)
		}
		if report.Other > 0 {
			e.logger.Info("the collection also has documents that are not from --docs; to keep folders apart, use another --collection", "collection", e.cfg.Store.Collection, "documents", report.Other)
		}
	}
	if err := a.Warm(ctx, e.cfg.Store.Collection); err != nil && ctx.Err() == nil {
		e.logger.Error("could not read the collection", "error", err)
	}
	return again
}

func listen(e *env) (*net.TCPListener, error) {
	var lc net.ListenConfig
	addr := e.cfg.HTTP.Addr
	l, err := lc.Listen(e.ctx, "tcp", addr)
	// 10048 is WSAEADDRINUSE, which package syscall does not define.
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

// serverPercent is GOGC of a server whose heap is not large; see [collectorPercent].
const serverPercent = 300

// TuneRuntime adjusts Go's garbage collector for many streams, unless GOGC or GOMEMLIMIT is set. A higher GOGC trades memory
// for less garbage collection, because streams allocate far more than they keep.
func TuneRuntime() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(serverPercent)
	}
}

// clientAddr returns the address that a client on this machine can use.
func clientAddr(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return a.String()
}

// serverFile is the file in the data folder that holds the address of the server that uses the folder.
const serverFile = "server.json"

type serverInfo struct {
	URL string `json:"url"`
	// Instance is the instance of the server's health check. It shows that another server uses the address by now.
	Instance string `json:"instance"`
	// Token is accepted as a key until the server stops. Only the server can prove that it has it: see [auth.Proof].
	Token string `json:"token"`
}

// newToken returns a random token in the form of a key.
func newToken() string { return auth.Text(auth.NewID(), auth.NewSecret()) }

// announce writes the address of the server for commands that use the same data folder. withdraw removes it.
func announce(e *env, info serverInfo) (withdraw func()) {
	path := filepath.Join(e.cfg.Store.Data, serverFile)
	data, err := json.Marshal(info)
	if err == nil {
		err = atomicfile.Write(path, data, 0o600)
	}
	if err != nil {
		e.logger.Warn("could not write the address of the server", "error", err)
	}
	return func() { _ = os.Remove(path) }
}

// running returns the server that uses the data folder, if one answers. Another program at its address gets neither the token nor a question.
func running(ctx context.Context, data string) (at remote, ok bool) {
	raw, err := os.ReadFile(filepath.Join(data, serverFile))
	var info serverInfo
	if err != nil || json.Unmarshal(raw, &info) != nil || info.URL == "" || info.Token == "" {
		return remote{}, false
	}
	challenge := rand.Text()
	h, proof, err := challengedHealth(ctx, info.URL+"/healthz", challenge)
	if err != nil || h.Instance != info.Instance || !hmac.Equal([]byte(proof), []byte(auth.Proof(info.Token, challenge))) {
		return remote{}, false
	}
	return remote{info.URL, config.Secret(info.Token)}, true
}

// startTimeout is how long a command waits for another process that has the data folder open.
const startTimeout = 30 * time.Second

// openOrRunning opens the data folder. If another process has it open, it waits until that is a server that has announced its address, which it returns, or until
// the folder is free.
func openOrRunning[T any](ctx context.Context, e *env, open func() (T, error)) (opened T, at remote, err error) {
	if opened, err = open(); !errors.Is(err, app.ErrInUse) {
		return opened, at, err
	}
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for polls := 0; ; polls++ {
		if polls == 5 { // a server usually starts faster
			fmt.Fprintln(e.Err, "another process uses the data folder; this command continues when that has ended, or is a server that is ready")
		}
		if at, ok := running(waiting, e.cfg.Store.Data); ok {
			return opened, at, nil
		}
		if app.CheckFree(e.cfg.Store.Data) == nil {
			if opened, err = open(); !errors.Is(err, app.ErrInUse) {
				return opened, at, err
			}
		}
		if wait(waiting) != nil {
			return opened, at, err
		}
	}
}

// pollInterval is the interval of requests to a server that is starting.
const pollInterval = 200 * time.Millisecond

// awaitReady waits until a server that is starting can answer questions, and shows its progress.
func awaitReady(ctx context.Context, e *env, url string) error {
	show, done := newProgress(e, "the server is indexing")
	defer done()
	for {
		h, err := health(ctx, url+"/readyz")
		if err != nil || h.Progress == nil {
			return nil // the question reports the error
		}
		p := h.Progress
		if p.Answering {
			fmt.Fprintf(e.Err, "the server is still indexing (%d of %d files): the answer uses only these\n", p.Done, p.Total)
			return nil
		}
		show(ingest.Progress{Done: p.Done, Total: p.Total})
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// wait waits until the next poll.
func wait(ctx context.Context) error { return waitFor(ctx, pollInterval) }

func waitFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// health returns the body of a health check with any status.
func health(ctx context.Context, url string) (h server.Health, err error) {
	h, _, err = challengedHealth(ctx, url, "")
	return h, err
}

// challengedHealth is health that sends a challenge and returns the proof: see [auth.Proof].
func challengedHealth(ctx context.Context, url, challenge string) (h server.Health, proof string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return h, "", err
	}
	req.Header.Set(auth.HeaderChallenge, challenge)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, "", err
	}
	defer res.Body.Close()
	err = json.NewDecoder(res.Body).Decode(&h)
	return h, res.Header.Get(auth.HeaderProof), err
}
