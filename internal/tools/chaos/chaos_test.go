//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
	"github.com/sluice-rag/sluice/wire/forge"
)

var (
	length = flag.Duration("length", 0, "how long faults happen, at least each fault once; 0: TestLeaderLoss is skipped")
	users  = flag.Int("users", 6, "number of questions at a time; each is read by two readers")
	pace   = flag.Duration("pace", 60*time.Millisecond, "time between two words of the model")
	seed   = flag.Uint64("seed", 0, "of the faults; 0: random")
)

var discard = log.New(io.Discard, "", 0)

func interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
}

// words is the number of words of an answer.
const words = 40

var (
	caseOf = regexp.MustCompile(`case (\d+)`)
	wordOf = regexp.MustCompile(`w(\d+)c(\d+)`)
)

// model answers the question of case 7 with w1c7 w2c7 and so on. When it is to continue a text, it counts on.
func model(t *testing.T) *modeltest.Server {
	return modeltest.NewOpenAI(t, modeltest.Script{Next: func(_ int, request []byte) modeltest.Script {
		var r struct {
			Messages []struct{ Role, Content string }
		}
		_ = json.Unmarshal(request, &r) // a request without messages is for no case
		number, said := "", 0
		for _, m := range r.Messages {
			if found := caseOf.FindAllStringSubmatch(m.Content, -1); m.Role == "user" && found != nil {
				number = found[len(found)-1][1]
			}
		}
		for _, m := range r.Messages {
			for _, w := range wordOf.FindAllStringSubmatch(m.Content, -1) {
				if m.Role == "assistant" && w[2] == number {
					said, _ = strconv.Atoi(w[1])
				}
			}
		}
		s := modeltest.Script{Every: *pace}
		for i := said + 1; i <= words; i++ {
			s.Tokens = append(s.Tokens, fmt.Sprintf(" w%dc%s", i, number))
		}
		s.Tokens = append(s.Tokens, " ⟦1⟧.")
		return s
	}})
}

// load asks questions and reads their answers.
type load struct {
	t    *testing.T
	base string
	stop chan struct{} // closed when no more questions are asked
	work sync.WaitGroup
	next atomic.Int64 // number of the last case

	mu      sync.Mutex
	asked   []asked
	readers []*reader
	refused map[string]int // replies to questions that were not answered
	lost    []error
}

// asked is a question that has a run.
type asked struct {
	run, session string
	number       int64
}

func (l *load) refuse(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[reason]++
}

// user asks one question after another in a session, each in one protocol, and reads the answer twice, on different servers.
func (l *load) user(ctx context.Context, n int) {
	for i := n; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		a := asked{session: fmt.Sprint("user-", n), number: l.next.Add(1)}
		begun := time.Now()
		for a.run = l.ask(ctx, a, i); a.run == ""; a.run = l.ask(ctx, a, i) {
			if time.Since(begun) > patience {
				l.mu.Lock()
				l.lost = append(l.lost, fmt.Errorf("case %d is not answered", a.number))
				l.mu.Unlock()
				return
			}
			<-time.After(100 * time.Millisecond)
		}
		var reading sync.WaitGroup
		for k := range 2 {
			r := &reader{base: l.base, run: a.run, protocol: protocols[int(a.number)%len(protocols)], server: i + k}
			l.mu.Lock()
			l.readers = append(l.readers, r)
			l.mu.Unlock()
			reading.Go(func() {
				if err := r.read(ctx); err != nil {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.lost = append(l.lost, err)
				}
			})
		}
		l.mu.Lock()
		l.asked = append(l.asked, a)
		l.mu.Unlock()
		reading.Wait()
	}
}

// ask sends a question and returns its run, or nothing if there was no such reply.
func (l *load) ask(ctx context.Context, a asked, server int) string {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	body := fmt.Sprintf(`{"query":"What does a ship pay for each metre of its length in case %d?","mode":"direct","session_id":%q}`, a.number, a.session)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+"/api/query/stream", strings.NewReader(body))
	if err != nil {
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(preferred, strconv.Itoa(server))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.refuse("no reply")
		return ""
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		var e forge.Error
		_ = json.Unmarshal(text, &e) // the balancer has no code
		reason := strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", e.Code))
		if res.StatusCode == http.StatusInternalServerError {
			reason += ": " + e.Message
		}
		l.refuse(reason)
		return ""
	}
	return res.Header.Get("Sluice-Run-Id")
}

func startLoad(t *testing.T, ctx context.Context, base string) *load {
	l := &load{t: t, base: base, stop: make(chan struct{}), refused: map[string]int{}}
	for n := range *users {
		l.work.Go(func() { l.user(ctx, n) })
	}
	return l
}

// finish waits for the answers.
func (l *load) finish() {
	close(l.stop)
	l.work.Wait()
}

// fault is something that happens to the group. It is healed when it returns.
type fault struct {
	name string
	do   func(rng *rand.Rand) error
}

func (g *group) faults(t *testing.T, b *balancer) []fault {
	restart := func(p *process, away time.Duration) error {
		_ = p.end(syscall.SIGKILL)
		<-time.After(away)
		return p.start()
	}
	pause := func(p *process, d time.Duration) error {
		p.signal(syscall.SIGSTOP)
		<-time.After(d)
		p.signal(syscall.SIGCONT)
		return nil
	}
	server := func(do func(*process) error) func(*rand.Rand) error {
		return func(rng *rand.Rand) error {
			i := rng.IntN(len(g.servers))
			if err := do(g.servers[i]); err != nil {
				return err
			}
			return g.ready(t.Context(), i)
		}
	}
	nats := func(do func(*process) error) func(*rand.Rand) error {
		return func(rng *rand.Rand) error { return do(g.nats[rng.IntN(len(g.nats))]) }
	}
	return []fault{
		{"server killed", server(func(p *process) error { return restart(p, 0) })},
		{"server killed, away for 5 s", server(func(p *process) error { return restart(p, 5*time.Second) })},
		{"server stopped for 4 s", server(func(p *process) error { return pause(p, 4*time.Second) })},
		{"NATS server killed", nats(func(p *process) error { return restart(p, time.Second) })},
		{"NATS server stopped for 4 s", nats(func(p *process) error { return pause(p, 4*time.Second) })},
		{"half of the connections of clients cut", func(*rand.Rand) error { b.cut(); return nil }},
		{"connections to PostgreSQL cut", func(*rand.Rand) error {
			postgrestest.Exec(t, g.store, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
			return nil
		}},
	}
}

// TestChaos lets faults happen while questions are asked and answers are read.
func TestChaos(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // the faults can be repeated
	g := startGroup(t, model(t).URL)
	g.ledger(t, "credit", "owner", "1000000")
	b := newBalancer(t, g.urls)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := startLoad(t, ctx, b.url)
	var happened []happening
	faults := g.faults(t, b)
	order := rng.Perm(len(faults))
	for begun, n := time.Now(), 0; n < len(order) || time.Since(begun) < *length; n++ {
		f := faults[rng.IntN(len(faults))]
		if n < len(order) {
			f = faults[order[n]] // each once before others are repeated
		}
		from := time.Now()
		if err := f.do(rng); err != nil {
			t.Fatal(f.name, err)
		}
		happened = append(happened, happening{f.name, gap{from, time.Now()}})
		t.Logf("%s to %s: %s", from.UTC().Format("05.000"), time.Now().UTC().Format("05.000"), f.name)
		<-time.After(time.Duration(500+rng.IntN(1000)) * time.Millisecond)
	}
	l.finish()
	r := g.check(t, l)
	r.happened = happened
	t.Logf("seed %d\n%s", *seed, r)
}

// TestRollingRestart restarts all servers, one after another, as a new version would be installed. No question fails.
func TestRollingRestart(t *testing.T) {
	g := startGroup(t, model(t).URL)
	g.ledger(t, "credit", "owner", "1000000")
	b := newBalancer(t, g.urls)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := startLoad(t, ctx, b.url)
	for i, p := range g.servers {
		b.take(i)
		if err := p.end(syscall.SIGTERM); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		require.NoError(t, p.start())
		require.NoError(t, g.ready(ctx, i))
		b.out[i].Store(false)
	}
	l.finish()
	r := g.check(t, l)
	t.Logf("\n%s", r)
	if len(l.refused) > 0 || r.failed["FAILED"] > 0 {
		t.Errorf("questions were refused: %v", l.refused)
	}
}

// happening is a fault that happened.
type happening struct {
	name string
	gap
}

// report is what happened.
type report struct {
	questions, runs, readers, frames, broken int
	refused, failed                          map[string]int
	protocols                                map[string]int // readers by protocol
	happened                                 []happening
	gaps                                     []gap
}

// String returns the report as lines.
func (r *report) String() string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d questions, %d runs, %d readers, %d frames, %d connections that broke or were refused\n", r.questions, r.runs, r.readers, r.frames, r.broken)
	fmt.Fprintf(&out, "questions refused and asked again: %v\nruns that failed: %v\npauses of readers above %v: %s\n", r.refused, r.failed, slow, quantiles(r.gaps))
	for _, name := range slices.Sorted(maps.Keys(r.protocols)) {
		fmt.Fprintf(&out, "  %3d readers of %s\n", r.protocols[name], name)
	}
	times, pauses := map[string]int{}, map[string][]gap{}
	for _, h := range r.happened {
		times[h.name]++
		for _, g := range r.gaps {
			if g.to.After(h.from) && g.from.Before(h.to) {
				pauses[h.name] = append(pauses[h.name], g)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(&out, "  %3d times %s: %s\n", times[name], name, quantiles(pauses[name]))
	}
	return out.String()
}

func quantiles(gaps []gap) string {
	if len(gaps) == 0 {
		return "none"
	}
	var all []time.Duration
	for _, g := range gaps {
		all = append(all, g.to.Sub(g.from).Round(10*time.Millisecond))
	}
	slices.Sort(all)
	n := len(all)
	return fmt.Sprintf("%d, p50 %v, p99 %v, longest %v", n, all[n/2], all[n*99/100], all[n-1])
}
