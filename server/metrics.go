package server

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
)

// metrics are the metrics of the server.
type metrics struct {
	requests *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, e *engine.Engine) (*metrics, error) {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_http_requests_total",
		Help: "Requests by route and status."}, []string{"route", "status"})}
	for _, c := range []prometheus.Collector{m.requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_runs_live", Help: "Runs being answered."},
		func() float64 { return float64(e.Live()) })} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ProcessMetrics registers the metrics of Go's runtime and of the process.
func ProcessMetrics(reg prometheus.Registerer) error {
	return errors.Join(reg.Register(collectors.NewGoCollector()),
		reg.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
}

// RunMetrics returns a function that counts ended runs, for the Ended option of the engine.
func RunMetrics(reg prometheus.Registerer) func(event.State) {
	runs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_runs_total",
		Help: "Runs ended, by status, mode and code of failure."}, []string{"status", "mode", "code"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sluice_run_seconds",
		Help: "Time from a run's first event to its last.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}, []string{"mode"})
	tokens := prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_tokens_total", Help: "Tokens of answers."})
	confidence := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sluice_run_confidence",
		Help: "Estimated probability that answers are right.", Buckets: []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}})
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_model_calls_total",
		Help: "Requests that models took, by model and step."}, []string{"model", "step"})
	spent := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_model_tokens_total",
		Help: "Tokens that models read and wrote, by model and direction."}, []string{"model", "direction"})
	survived := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_warnings_total",
		Help: "Failures that runs survived, by step and code."}, []string{"step", "code"})
	reg.MustRegister(runs, seconds, tokens, confidence, calls, spent, survived)
	return func(s event.State) {
		mode, code := string(s.Mode), ""
		if s.Analysis != nil {
			mode = string(s.Analysis.Mode)
		}
		if s.Failure != nil {
			code = string(s.Failure.Code)
		}
		runs.WithLabelValues(string(s.Status), mode, code).Inc()
		seconds.WithLabelValues(mode).Observe(s.Elapsed().Seconds())
		tokens.Add(float64(s.Tokens))
		if s.Check != nil {
			confidence.Observe(s.Confidence)
		}
		for _, u := range s.Usage {
			if s.Writer.OwnKey {
				u.Model = "own key" // callers choose its name, and there may be many
			}
			calls.WithLabelValues(u.Model, u.Step).Add(float64(u.Calls))
			spent.WithLabelValues(u.Model, "input").Add(float64(u.Input))
			spent.WithLabelValues(u.Model, "output").Add(float64(u.Output))
		}
		for _, w := range s.Warnings {
			survived.WithLabelValues(w.Step, string(w.Code)).Inc()
		}
	}
}

// statusWriter records the status for metrics and logs.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap implements the interface of [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// observed counts and logs the requests of a route.
func (s *Server) observed(route string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		sw := &statusWriter{ResponseWriter: w}
		defer func() { // also if a stream is aborted
			p := recover()
			if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) {
				s.o.Logger.Error("request panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
				p = http.ErrAbortHandler
			}
			if p != nil {
				defer panic(p)
			}
			if sw.status == 0 {
				sw.status = http.StatusOK
			}
			s.metrics.requests.WithLabelValues(route, strconv.Itoa(sw.status)).Inc()
			s.o.Logger.Debug("request", "method", r.Method, "route", route, "status", sw.status, "ms", time.Since(began).Milliseconds())
		}()
		h.ServeHTTP(sw, r)
	})
}
