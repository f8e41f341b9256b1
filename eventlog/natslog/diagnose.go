package natslog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/natsconn"
)

// trialPrefix begins the names of the tenants that [Diagnose] makes and deletes.
const trialPrefix = "doctor-"

// Times of the checks: for a reply, in which another server may become the leader of the cluster, and for a whole trial.
const (
	replyTimeout = 6 * time.Second
	trialTimeout = 15 * time.Second
)

// ask calls do until it gets a reply, or replyTimeout is over.
func ask(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	for {
		once, stop := context.WithTimeout(ctx, attempt)
		err := do(once)
		if err == nil || disabled(err) || !transient(err) || ctx.Err() != nil {
			stop()
			return err
		}
		<-once.Done()
		stop()
	}
}

// Diagnose checks each server of a comma separated list of URLs. On the first one that replies it also checks the streams of Sluice, and writes, reads
// and deletes a run of a tenant of its own, with the replicas, the size and the timeout of the options. The setting is the name of the list in messages.
func Diagnose(ctx context.Context, urls, setting string, c natsconn.Options, o Options) []doctor.Finding {
	if err := natsconn.CheckURLs(urls); err != nil {
		f := doctor.Finding{Part: "log", Engine: "NATS"}
		f.Fail(err.Error(), "correct "+setting)
		return []doctor.Finding{f}
	}
	all := strings.Split(urls, ",")
	out, conns := make([]doctor.Finding, len(all)), make([]*natsconn.Conn, len(all))
	var checks sync.WaitGroup
	for i, u := range all {
		checks.Go(func() { out[i], conns[i] = diagnose(ctx, strings.TrimSpace(u), setting, c) })
	}
	checks.Wait()
	tried := false
	for i, conn := range conns {
		if conn == nil {
			continue
		}
		defer func() { _ = conn.Close() }()
		if !tried {
			tried = true
			if streams(ctx, conn, &out[i]) {
				tryRun(ctx, conn, &out[i], o)
			}
		}
	}
	return out
}

// diagnose connects to one server. Without a connection or JetStream, the connection is nil.
func diagnose(ctx context.Context, address, setting string, o natsconn.Options) (f doctor.Finding, c *natsconn.Conn) {
	f = doctor.Finding{Part: "log", Engine: "NATS"}
	u, err := url.Parse(address)
	if err != nil {
		f.Fail("the address is not a URL", "correct "+setting)
		return f, nil
	}
	f.Address = u.Host
	if err := reach(ctx, u); err != nil && f.Unreachable(err, setting) { // the library does not say why there is no connection
		return f, nil
	}
	c, err = natsconn.Connect(address, o)
	old, isOld := errors.AsType[natsconn.TooOldError](err)
	switch {
	case isOld:
		f.Version = string(old)
		f.Fail(old.Error(), "upgrade it")
		return f, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		f.Fail("it refuses the user, the password or the credentials", "correct them in "+setting+" or --log-credentials")
		return f, nil
	case err != nil && !f.Unreachable(err, setting):
		f.Fail(err.Error(), "check "+setting+" and --log-credentials")
	}
	if err != nil {
		return f, nil
	}
	f.Version = c.NC.ConnectedServerVersion()
	if roundTrip, err := c.NC.RTT(); err == nil {
		f.SetRoundTrip(roundTrip)
	}
	var account *jetstream.AccountInfo
	err = ask(ctx, func(ctx context.Context) (err error) { account, err = c.JS.AccountInfo(ctx); return err })
	switch {
	case disabled(err):
		f.Fail("JetStream is not enabled", "start nats-server with --jetstream, and enable it for the account of the user")
	case err != nil:
		explain(c, &f, "JetStream does not reply", err)
	}
	if err != nil {
		_ = c.Close()
		return f, nil
	}
	if limit := account.Limits.MaxStore; limit > 0 && account.Store > uint64(limit)/10*9 {
		f.Warn(fmt.Sprintf("%d of %d bytes of the account's storage are used", account.Store, limit), "raise the limit of the account, or shorten --keep-runs-age")
	}
	return f, c
}

// disabled reports whether a request failed because JetStream is not enabled.
func disabled(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders)
}

// reach connects to the host of a URL and closes the connection.
func reach(ctx context.Context, u *url.URL) error {
	port := cmp.Or(u.Port(), map[string]string{"ws": "80", "wss": "443"}[u.Scheme], "4222")
	c, err := (&net.Dialer{Timeout: natsconn.Timeout}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return c.Close()
}

// explain adds the problem of a failed request.
func explain(c *natsconn.Conn, f *doctor.Finding, text string, err error) {
	if last := c.NC.LastError(); errors.Is(last, nats.ErrPermissionViolation) { // the request then times out
		f.Fail(text+": "+strings.TrimPrefix(last.Error(), nats.ErrPermissionViolation.Error()+": "), "permit the user to publish to sluice.>, $JS.API.>, $JS.FC.> and _INBOX.>, and to subscribe to sluice.> and _INBOX.>")
		return
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case natsconn.TooFew(err):
		f.Fail(text+": there are too few servers for --log-replicas", "start more NATS servers with JetStream, or lower --log-replicas")
	case ok && (api.ErrorCode == noQuota || api.ErrorCode == noResources || natsconn.NoStorage(err)):
		f.Fail(text+": JetStream has no room for the size of --keep-runs-bytes", "raise max_file_store of nats-server or the limit of the account, or lower --keep-runs-bytes")
	case errors.Is(err, jetstream.ErrStreamNotFound): // a leader that has just lost the other servers has accepted it
		f.Fail(text+": the cluster has not stored it", "check that more than half of the NATS servers run and reach each other")
	case transient(err):
		f.Fail(text+": no reply", "check that more than half of the NATS servers run and reach each other")
	default:
		f.Fail(text+": "+natsconn.WithoutURL(err).Error(), "see the log of nats-server")
	}
}

// Error codes of JetStream: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const (
	noQuota     = 10002
	noResources = 10023
)

// streams checks the copies of the streams of Sluice. It reports whether NATS listed them.
func streams(ctx context.Context, c *natsconn.Conn, f *doctor.Finding) bool {
	var all []*jetstream.StreamInfo
	err := ask(ctx, func(ctx context.Context) error {
		list := c.JS.ListStreams(ctx, jetstream.WithStreamListSubject("sluice.>"))
		all = nil
		for info := range list.Info() {
			all = append(all, info)
		}
		return list.Err()
	})
	if err != nil {
		explain(c, f, "the streams cannot be listed", err)
		return false
	}
	bytes := uint64(0)
	for _, info := range all {
		bytes += info.State.Bytes
		if info.Cluster == nil || info.Cluster.Name == "" {
			continue
		}
		if info.Cluster.Leader == "" {
			f.Fail("the stream "+info.Config.Name+" has no leader, so it cannot be written", "start the other NATS servers")
		}
		for _, peer := range info.Cluster.Replicas {
			if peer.Offline {
				f.Fail(fmt.Sprintf("the stream %s has a copy on the server %s, which is away", info.Config.Name, peer.Name), "start this NATS server")
			}
		}
		if info.Config.Replicas == 1 {
			f.Warn(fmt.Sprintf("the stream %s has one copy, although NATS is a cluster", info.Config.Name), "start sluice once with --log-replicas 3")
		}
	}
	f.Detail("%d streams of Sluice with %d bytes", len(all), bytes)
	return true
}

// tryRun writes, reads and deletes a run of a tenant of its own.
func tryRun(ctx context.Context, c *natsconn.Conn, f *doctor.Finding, o Options) {
	tenant := trialPrefix + rand.Text()
	trial := Options{Tenant: tenant, Replicas: o.Replicas, MaxAge: time.Minute, Timeout: cmp.Or(o.Timeout, replyTimeout)}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	if _, err := c.JS.Stream(ctx, newNames("sluice", cmp.Or(o.Tenant, "default")).runs); errors.Is(err, jetstream.ErrStreamNotFound) {
		trial.MaxBytes = o.MaxBytes // nothing has reserved it yet
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), trial.Timeout)
		defer cancel()
		if err := DeleteTenant(end, c, "", tenant); err != nil && !f.Failed() {
			explain(c, f, "a stream cannot be deleted", err)
		}
	}()
	writer, err := Open(ctx, c, trial)
	if err != nil {
		explain(c, f, "a stream cannot be created", err)
		return
	}
	defer writer.Close()
	begin := time.Now()
	if info, err := writer.runs.Info(ctx); err == nil && !info.TimeStamp.IsZero() {
		took := time.Since(begin)
		f.SetClock(info.TimeStamp.Sub(begin.Add(took/2)), took)
	}
	reader, err := Open(ctx, c, trial) // as another server has it
	if err != nil {
		explain(c, f, "a stream cannot be opened", err)
		return
	}
	defer reader.Close()
	run := event.RunID(tenant)
	if err := writer.Append(ctx, run, event.Event{Seq: 1, At: begin, Body: event.RunStarted{Run: run}}, event.Event{Seq: 2, At: begin, Body: event.RunFinished{}}); err != nil {
		explain(c, f, "a run cannot be written", err)
		return
	}
	if _, err := eventlog.Read(ctx, reader, run, 0, 2); err != nil {
		explain(c, f, "a run cannot be read", err)
		return
	}
	if err := writer.Delete(ctx, run); err != nil {
		explain(c, f, "a run cannot be deleted", err)
		return
	}
	f.Detail("a run was written, read and deleted in %v", time.Since(begin).Round(100*time.Microsecond))
}
