package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// Options configure [Open]. URL and Writer are required.
type Options struct {
	URL     string // weaviate://host:port, or weaviates:// for TLS; several servers of a cluster are separated by commas
	Key     string // API key; empty: none
	KeyFile string // file that holds the API key, which has precedence
	Tenant  string
	// Writer names the server. No other process with the same name may use the tenant at the same time.
	Writer   string
	Replicas int          // servers of the cluster that store a new collection; 0: as many as it has, at most 3
	Logger   *slog.Logger // nil: no log
}

// The times that keep readers from losing what they read. A reader that takes longer than readTime begins anew or fails; a replaced revision is erased
// after graceTime.
const (
	readTime  = 20 * time.Second
	graceTime = readTime + 5*time.Second
	sweepWait = 5 * time.Second // between two looks for what can be erased
)

// Index is the index of one tenant. It implements [index.Index], [index.Spaces], [index.Graph], [index.Versions], [index.Sets],
// [index.DocumentReader] and [index.Annotator].
type Index struct {
	client      *client
	tenant      string // as Weaviate calls it
	writer      string // key of the name of the server
	replicas    int
	recheckTime time.Duration // see recheck
	lateTime    time.Duration // see late
	logger      *slog.Logger

	uncertain atomic.Int64 // when a write failed last without an answer, in nanoseconds since 1970: Weaviate may still carry it out

	mu          sync.Mutex // guards collections
	collections map[string]*collection

	write   sync.Mutex                      // one writer at a time; guards the maps below
	heads   map[string]*head                // of this server, by class
	dead    map[string]map[string]time.Time // by class and revision: since when it is replaced
	changed map[string]map[string]int64     // by class and key of a document: when it was changed last; see recheck
	factors map[string]int                  // by class: how many servers store it
	life    sync.RWMutex                    // read-locked by each call, locked by Close
	ended   bool
	stop    context.CancelFunc
	done    chan struct{} // closed when the sweeper has ended
}

var (
	_ index.Index          = (*Index)(nil)
	_ index.Spaces         = (*Index)(nil)
	_ index.Versions       = (*Index)(nil)
	_ index.Sets           = (*Index)(nil)
	_ index.DocumentReader = (*Index)(nil)
	_ index.Annotator      = (*Index)(nil)
)

var errClosed = errors.New("the index is closed")

// Open returns the index of a tenant. It does not connect: while Weaviate is away, calls fail with [fault.Unavailable].
func Open(o Options) (*Index, error) {
	x, err := connect(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	go x.sweepRegularly(ctx)
	return x, nil
}

func connect(o Options) (*Index, error) {
	if o.KeyFile != "" {
		text, err := os.ReadFile(o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the API key of Weaviate: %w", err)
		}
		o.Key = strings.TrimSpace(string(text))
	}
	c, err := newClient(o.URL, o.Key)
	if err != nil {
		return nil, err
	}
	x := &Index{client: c, tenant: tenantName(o.Tenant), writer: key(o.Writer), replicas: o.Replicas, logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		collections: map[string]*collection{}, heads: map[string]*head{}, dead: map[string]map[string]time.Time{},
		changed: map[string]map[string]int64{}, factors: map[string]int{}, recheckTime: recheckTime, lateTime: lateTime, done: make(chan struct{})}
	return x, nil
}

// Close stops the background work and waits for running calls.
func (x *Index) Close() error {
	x.stop()
	<-x.done
	x.life.Lock()
	defer x.life.Unlock()
	x.ended = true
	x.client.http.CloseIdleConnections()
	return nil
}

// Health returns nil: a failure of Weaviate shows in each call.
func (x *Index) Health() error { return nil }

// enter begins a call. Unless it returns an error, the caller ends the call with x.life.RUnlock.
func (x *Index) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.life.RLock()
	if x.ended {
		x.life.RUnlock()
		return fault.Wrap(fault.Index, errClosed, "the index failed")
	}
	return nil
}

// failed adds the operation and a code to err, unless err has a code or comes from a context.
func failed(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = fmt.Errorf("%s in Weaviate: %w", op, err)
	if fault.CodeOf(err) != "" {
		return err
	}
	return fault.Wrap(fault.Index, err, "the index failed")
}
