package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/internal/config"
)

type sessionsCmd struct {
	List   sessionsListCmd   `cmd:"" default:"withargs" help:"List sessions, the last used one first."`
	Show   sessionsShowCmd   `cmd:"" help:"Print a session as Markdown."`
	Export sessionsExportCmd `cmd:"" help:"Print a session as Markdown, or all its branches as JSON."`
	Delete sessionsDeleteCmd `cmd:"" help:"Delete a session with its runs."`
}

// sessionsFlags select the server, or the data folder, that has the sessions.
type sessionsFlags struct {
	config.Store
	tenantFlag
	Server string `placeholder:"URL" help:"Server to ask. The default is the server that uses the data folder, or no server."`
	keyFlag
}

// use calls do with a client of the server. Without one, it is a client of the routes over the data folder.
func (f *sessionsFlags) use(e *env, do func(c *client.Client) error) error {
	at, err := f.server(e, f.Server)
	if err != nil {
		return err
	}
	if at.url != "" {
		c, err := f.over(at).client()
		if err != nil {
			return err
		}
		return do(c)
	}
	a, err := f.openExisting(e)
	if err != nil {
		return err
	}
	s, err := a.Server(version())
	if err != nil {
		return errors.Join(err, a.Close())
	}
	t := &handlerTransport{handler: s.Handler()}
	c, err := client.New("http://localhost", client.Options{HTTP: &http.Client{Transport: t}})
	if err == nil {
		err = do(c)
	}
	t.work.Wait()
	return errors.Join(err, a.Close())
}

// handlerTransport sends requests to a handler in this process, as the operator of the server. The bodies of replies must be closed.
type handlerTransport struct {
	handler http.Handler
	work    sync.WaitGroup
}

// RoundTrip implements [http.RoundTripper].
func (t *handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: out, begun: make(chan int, 1)}
	r = r.WithContext(auth.With(r.Context(), auth.Local()))
	if r.Body == nil {
		r.Body = http.NoBody
	}
	t.work.Go(func() {
		defer func() {
			if recover() != nil { // the handler has aborted the reply and logged why
				_ = out.CloseWithError(io.ErrUnexpectedEOF)
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		t.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = out.Close() // never fails
	})
	status := <-w.begun
	return &http.Response{StatusCode: status, Header: w.header, Body: body, ContentLength: -1, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// pipeWriter is the [http.ResponseWriter] of a handlerTransport.
type pipeWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan int // receives the status
}

// Header implements [http.ResponseWriter].
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() { w.begun <- status })
}

// Write implements [http.ResponseWriter].
func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

type sessionsListCmd struct {
	sessionsFlags
	Limit    int    `default:"20" help:"Maximum number of sessions, 1 to 200."`
	Query    string `placeholder:"WORDS" help:"Only sessions that have these words in the title or in one message."`
	Archived string `default:"false" enum:"false,true,all" help:"Whether to list archived sessions: false, true or all."`
	JSON     bool   `name:"json" help:"Print JSON, one session per line."`
}

// Run lists the sessions.
func (c *sessionsListCmd) Run(e *env) error {
	return c.use(e, func(cl *client.Client) error {
		l, err := cl.Sessions(e.ctx, client.SessionFilter{Query: c.Query, Archived: c.Archived}, c.Limit, "")
		if err != nil {
			return err
		}
		if c.JSON {
			return printLines(e, l.Sessions...)
		}
		w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "SESSION\tUSED\tTURNS\tTITLE")
		for _, s := range l.Sessions {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", display.Shorten(s.ID, 128), s.UsedAt.Local().Format(time.DateTime), s.Turns, display.Shorten(s.Title, 60))
		}
		return w.Flush()
	})
}

type sessionsShowCmd struct {
	sessionsFlags
	ID string `arg:"" name:"session" help:"Id of the session."`
}

// Run prints the active branch of a session.
func (c *sessionsShowCmd) Run(e *env) error {
	return c.use(e, func(cl *client.Client) error {
		return task("show session", printSession(e, cl, c.ID, client.ExportMarkdown))
	})
}

func printSession(e *env, cl *client.Client, id, format string) error {
	text, err := cl.ExportSession(e.ctx, id, format)
	if err != nil {
		return err
	}
	defer text.Close()
	if _, err := io.Copy(e.Out, text); err != nil {
		return fmt.Errorf("export session: %w", err)
	}
	return nil
}

type sessionsExportCmd struct {
	sessionsFlags
	Format string `default:"markdown" enum:"markdown,json" help:"Format: markdown (the active branch) or json (all branches)."`
	ID     string `arg:"" name:"session" help:"Id of the session."`
}

// Run prints a session.
func (c *sessionsExportCmd) Run(e *env) error {
	return c.use(e, func(cl *client.Client) error { return printSession(e, cl, c.ID, c.Format) })
}

type sessionsDeleteCmd struct {
	sessionsFlags
	KeepRuns bool   `name:"keep-runs" help:"Keep the runs of the session."`
	ID       string `arg:"" name:"session" help:"Id of the session."`
}

// Run deletes a session.
func (c *sessionsDeleteCmd) Run(e *env) error {
	return c.use(e, func(cl *client.Client) error { return cl.DeleteSession(e.ctx, c.ID, c.KeepRuns) })
}
