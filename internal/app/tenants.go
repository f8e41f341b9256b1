package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/web"
)

// Tenants serves all tenants of a data folder. The default tenant is always open. Another one is opened by its first request, and is
// closed when it is idle and the least recently used while too many are open. It is safe for concurrent use.
type Tenants struct {
	Default *App

	shared   *Shared
	version  string
	room     *semaphore.Weighted // of the tenants that are open, without the default one
	logger   *slog.Logger
	main     *server.Server
	registry *prometheus.Registry // metrics of the process
	opened   *prometheus.CounterVec

	mu       sync.Mutex
	open     map[string]*tenant // including those that wait for room, are being opened or closed
	waiting  int                // tenants that wait for room
	closing  bool
	requests int64          // counts calls of enter
	creating sync.Mutex     // held while a tenant is created
	work     sync.WaitGroup // recovery, and tenants that are being closed
	stop     context.CancelFunc
}

var _ server.Tenants = (*Tenants)(nil)

// tenant is an entry in the table of open tenants. It is removed when it could not be opened or is closed.
type tenant struct {
	name   string
	ready  chan struct{} // closed when it is open, or could not be opened
	closed chan struct{} // closed when it is removed from the table
	unused chan struct{} // closed when it is being deleted and has no more requests
	giveUp func()        // stops to wait for room

	serving context.Context // of its requests; ends when the tenant is deleted
	cancel  func()
	deleted bool // set before closed is closed

	app     *App // set before ready is closed, like the following two
	handler http.Handler
	err     error // why it could not be opened

	// Guarded by Tenants.mu.
	users   int   // requests
	last    int64 // the number of its last request: see Tenants.requests
	leaving bool  // it is being closed
}

// OpenTenants opens the default tenant with its uploaded files. The instance is that of the health check.
func OpenTenants(ctx context.Context, s *Shared, version, instance string) (*Tenants, error) {
	a, err := s.Open(ctx, auth.DefaultTenant)
	if err != nil {
		return nil, err
	}
	if err := s.holdName(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.Instance = instance
	t := &Tenants{Default: a, shared: s, version: version, room: semaphore.NewWeighted(int64(s.Config.Tenants.MaxOpenTenants)), logger: s.logger, open: map[string]*tenant{},
		registry: prometheus.NewRegistry(), stop: func() {}}
	a.Live = t.live
	a.tenants = t
	a.StartReembedding()
	if err := a.OpenFiles(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if t.main, err = a.Server(version); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := errors.Join(t.registerMetrics(), a.sources.Resume(ctx)); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return t, nil
}

func (t *Tenants) registerMetrics() error {
	t.opened = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_tenant_opens_total", Help: "Times that a tenant was opened, by result."}, []string{"result"})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_tenants_open", Help: "Open tenants."}, func() float64 { return float64(len(t.apps())) })
	return errors.Join(server.ProcessMetrics(t.registry), t.registry.Register(t.opened), t.registry.Register(open))
}

// Front returns the front of the tenants, with the page. The function authenticate may be nil: see [server.NewFront].
func (t *Tenants) Front(authenticate func(http.Handler) http.Handler) *server.Front {
	return server.NewFront(t.main, t, func(next http.Handler) http.Handler {
		if authenticate != nil {
			next = authenticate(next)
		}
		return web.Handler(next)
	})
}

// Acquire implements [server.Tenants]. It waits for a tenant that is being opened or closed, and while too many are open and none of
// them is idle. Errors: [fault.InvalidRequest] for the name, [fault.Overloaded] for the latter, [fault.Unavailable].
func (t *Tenants) Acquire(ctx context.Context, name string) (http.Handler, func(), error) {
	if err := auth.ValidateTenant(name); err != nil {
		return nil, nil, err
	}
	e, err := t.acquire(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return e, func() { t.release(e) }, nil
}

// ServeHTTP serves a request of the tenant. Its context ends when the tenant is deleted.
func (e *tenant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(e.serving, cancel)
	defer delivery.AtEnd(ctx, func() {
		stop()
		cancel()
	})
	e.handler.ServeHTTP(w, r.WithContext(ctx))
}

func newTenant(name string) *tenant {
	e := &tenant{name: name, ready: make(chan struct{}), closed: make(chan struct{}), unused: make(chan struct{})}
	e.serving, e.cancel = context.WithCancel(context.Background())
	return e
}

// acquire returns an open tenant and counts a user.
func (t *Tenants) acquire(ctx context.Context, name string) (*tenant, error) {
	for {
		e, entered, err := t.enter(name)
		if err != nil {
			return nil, err
		}
		if !entered {
			select {
			case <-e.closed:
				if e.deleted {
					return nil, fault.New(fault.Unauthenticated, "the tenant of this key was deleted")
				}
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		select {
		case <-e.ready:
			err = e.err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			t.release(e)
			return nil, err
		}
		return e, nil
	}
}

// enter counts a user of a tenant, which it adds to the table if need be. It reports whether it did: not if the tenant is being closed.
func (t *Tenants) enter(name string) (e *tenant, entered bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.open[name]; e != nil && e.leaving {
		return e, false, nil
	}
	if e == nil {
		if t.closing {
			return nil, false, errStopping
		}
		e = newTenant(name)
		t.open[name] = e
		waiting, cancel := context.WithCancel(context.Background())
		e.giveUp = cancel
		t.work.Go(func() { t.start(waiting, e) })
	}
	t.requests++
	e.users, e.last = e.users+1, t.requests
	return e, true, nil
}

var errStopping = fault.New(fault.Unavailable, "the server is stopping")

func (t *Tenants) release(e *tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	e.giveUp()
	if e.leaving {
		close(e.unused)
	}
	t.evict()
}

// start opens a tenant when there is room. Its context ends when no request waits for the tenant any more.
func (t *Tenants) start(ctx context.Context, e *tenant) {
	defer close(e.ready)
	if e.err = t.awaitRoom(ctx); e.err != nil {
		t.remove(e)
		return
	}
	began := time.Now()
	if err := t.openApp(context.Background(), e); err != nil {
		t.logger.Error("could not open a tenant", "tenant", e.name, "error", err)
		t.opened.WithLabelValues("failed").Inc()
		e.err = fault.Wrap(fault.Unavailable, err, "the data of this tenant cannot be opened")
		t.room.Release(1)
		t.remove(e)
		return
	}
	t.opened.WithLabelValues("ok").Inc()
	t.logger.Debug("tenant opened", "tenant", e.name, "ms", time.Since(began).Milliseconds())
}

// awaitRoom waits until one more tenant may be open, in the order of the calls.
func (t *Tenants) awaitRoom(ctx context.Context) error {
	if t.room.TryAcquire(1) {
		return nil
	}
	t.addWaiting(1)
	defer t.addWaiting(-1)
	ctx, cancel := context.WithTimeout(ctx, t.shared.Config.Runs.QueueWait)
	defer cancel()
	// A tenant may become idle without a request, at the end of a run or a task.
	t.work.Go(func() {
		poll := time.NewTicker(pollTenants)
		defer poll.Stop()
		for {
			select {
			case <-poll.C:
				t.addWaiting(0)
			case <-ctx.Done():
				return
			}
		}
	})
	if err := t.room.Acquire(ctx, 1); err != nil {
		return fault.Wrap(fault.Overloaded, err, "too many tenants are active; try again")
	}
	return nil
}

// pollTenants is how often a tenant that waits for room looks for one that can be closed.
const pollTenants = 20 * time.Millisecond

// addWaiting changes the number of tenants that wait for room, and makes room for them.
func (t *Tenants) addWaiting(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += n
	t.evict()
}

// evict begins to close the least recently used of the idle tenants, as many as wait for room. The caller holds mu.
func (t *Tenants) evict() {
	need := t.waiting
	if need == 0 {
		return
	}
	for _, e := range t.open {
		if e.leaving {
			need--
		}
	}
	if need <= 0 {
		return
	}
	for _, e := range slices.SortedFunc(maps.Values(t.open), func(a, b *tenant) int { return cmp.Compare(a.last, b.last) }) {
		if need > 0 && e.idle() {
			e.leaving = true
			need--
			t.work.Go(func() { t.closeTenant(e) })
		}
	}
}

// idle reports whether a tenant can be closed. The caller holds the lock of the table.
func (e *tenant) idle() bool {
	if e.users > 0 || e.leaving {
		return false
	}
	select {
	case <-e.ready:
		return e.err == nil && e.app.Idle()
	default:
		return false
	}
}

// openApp opens the folder of a tenant and recovers what an earlier process did not finish.
func (t *Tenants) openApp(ctx context.Context, e *tenant) error {
	a, err := t.shared.Open(ctx, e.name)
	if err != nil {
		return err
	}
	if err := a.reserve.Use(func() error { return os.WriteFile(unfinishedPath(a), nil, 0o600) }); err != nil {
		return errors.Join(err, a.Close())
	}
	a.StartReembedding()
	err = a.OpenFiles(ctx)
	if err == nil {
		err = a.Recover(ctx, engine.Recovery{Fail: t.shared.Config.Start.Recover == "fail"})
	}
	var s *server.Server
	if err == nil {
		s, err = a.Server(t.version)
	}
	if err == nil {
		err = a.sources.Resume(ctx)
	}
	if err != nil {
		return errors.Join(err, a.Close())
	}
	e.app, e.handler = a, s.Handler()
	return nil
}

// unfinishedPath is the path of an empty file that a tenant's folder has while the tenant is open or has unfinished work: the next
// process opens it at its start to finish that.
func unfinishedPath(a *App) string { return filepath.Join(a.Config.Store.Data, unfinishedFile) }

const unfinishedFile = "unfinished"

// closeTenant closes a tenant that is open, and removes it from the table.
func (t *Tenants) closeTenant(e *tenant) {
	t.shut(e)
	t.remove(e)
}

// shut closes a tenant that is open.
func (t *Tenants) shut(e *tenant) {
	_ = e.app.Engine.Close(stopped()) // the error is that of the context
	finished := e.app.Idle()
	err := e.app.Close()
	if err == nil && finished {
		err = atomicfile.Remove(unfinishedPath(e.app))
	}
	if err != nil {
		t.logger.Error("could not close a tenant", "tenant", e.name, "error", err)
	}
	t.room.Release(1)
}

func (t *Tenants) remove(e *tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, e.name)
	e.cancel()
	close(e.closed)
}

// Idle reports whether the tenant can be closed without an effect on callers: see [engine.Engine.Idle] and [files.Service.Idle]. A sync of a source is not idle, and
// neither is a watched source.
func (a *App) Idle() bool {
	return a.Engine.Idle() && (a.files.service == nil || a.files.service.Idle()) && (a.sources == nil || a.sources.Idle() && !a.sources.Watches()) && (a.calls == nil || a.calls.Idle())
}

// Start finishes, in the background, what an earlier process did not finish in other tenants than the default one. From then on it calls
// [Tenants.Retain] once a day, or more often if runs are kept for less than four days.
func (t *Tenants) Start() {
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.watchServers(ctx)
	t.work.Go(func() { t.visitDue(ctx) })
	t.work.Go(func() {
		t.visit(ctx, func(name string) bool {
			_, err := os.Stat(filepath.Join(Folder(t.shared.Config.Store.Data, name), unfinishedFile))
			return err == nil
		}, func(*App) error { return nil })
		every := time.NewTicker(min(24*time.Hour, max(t.shared.Config.Keep.KeepRunsAge/4, time.Hour)))
		defer every.Stop()
		for {
			select {
			case <-every.C:
				t.Retain(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// Retain opens one tenant after the other, so that runs and vector stores that are too old are also deleted in tenants that nobody uses.
// Errors are logged.
func (t *Tenants) Retain(ctx context.Context) {
	t.visit(ctx, func(string) bool { return true }, func(a *App) error { return a.Log.Retain(ctx) })
}

// visit opens the tenants that are chosen and still exist, one after the other, and calls do for each.
func (t *Tenants) visit(ctx context.Context, choose func(name string) bool, do func(*App) error) {
	names, err := ListTenants(t.shared.Config.Store.Data)
	if err != nil {
		t.logger.Error("could not find the tenants", "error", err)
	}
	for _, name := range names {
		if _, err := os.Stat(Folder(t.shared.Config.Store.Data, name)); err != nil || !choose(name) {
			continue
		}
		e, err := t.acquire(ctx, name)
		for err != nil && ctx.Err() == nil && fault.Public(err).Code == fault.Overloaded {
			e, err = t.acquire(ctx, name)
		}
		if err != nil {
			continue // it is logged where it happens
		}
		if err := do(e.app); err != nil && ctx.Err() == nil {
			t.logger.Error("could not maintain a tenant", "tenant", name, "error", err)
		}
		t.release(e)
	}
}

// apps returns the apps that are open, by name.
func (t *Tenants) apps() map[string]*App {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]*App{auth.DefaultTenant: t.Default}
	for name, e := range t.open {
		select {
		case <-e.ready:
			if e.err == nil && !e.leaving {
				out[name] = e.app
			}
		default: // not open yet
		}
	}
	return out
}

// live returns the number of live runs of all tenants.
func (t *Tenants) live() (n int) {
	for _, a := range t.apps() {
		n += a.Engine.Live()
	}
	return n
}

// Metrics implements [server.Tenants].
func (t *Tenants) Metrics() prometheus.Gatherer {
	all := prometheus.Gatherers{t.registry}
	for _, a := range t.apps() {
		all = append(all, a.Registry)
	}
	return all
}

// Drain implements [server.Tenants].
func (t *Tenants) Drain(ctx context.Context) error {
	t.stop()
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	apps := t.apps()
	delete(apps, auth.DefaultTenant)
	errs := make(chan error, len(apps)+1)
	go func() { errs <- t.main.Drain(ctx) }()
	for _, a := range apps {
		go func() { errs <- a.Engine.Close(ctx) }()
	}
	var err error
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return err
}

// Close cancels the live runs of all tenants and closes the tenants. It does not close what they share.
func (t *Tenants) Close() error {
	_ = t.Drain(stopped()) // the error is that of the context
	t.work.Wait()
	for _, e := range slices.Collect(maps.Values(t.open)) { // no other goroutine uses the table any more
		t.work.Go(func() { t.closeTenant(e) })
	}
	t.work.Wait()
	return t.Default.Close()
}

func stopped() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
