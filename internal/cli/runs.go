package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

type runsCmd struct {
	config.Store
	tenantFlag
	Server string `placeholder:"URL" help:"Server to ask. The default is the server that uses the data folder, or no server."`
	keyFlag
	Limit int  `default:"20" help:"Maximum number of runs, 1 to 500."`
	JSON  bool `name:"json" help:"Print JSON, one run per line."`
}

// Run lists the runs.
func (c *runsCmd) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 500 {
		return errors.New("runs: --limit: must be 1 to 500")
	}
	list, err := c.list(e)
	if err != nil {
		return err
	}
	if c.JSON {
		return printLines(e, list.Runs...)
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tSTATUS\tMS\tEVENTS\tQUESTION")
	for _, r := range list.Runs {
		status := string(r.Status)
		if r.ErrorCode != "" && r.Status == event.Failed {
			status += " " + r.ErrorCode
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", r.RunID, r.StartedAt.Local().Format(time.DateTime), status, r.DurationMS, r.Events, display.Shorten(r.Query, 60))
	}
	return w.Flush()
}

func (c *runsCmd) list(e *env) (list server.RunList, err error) {
	at, err := c.server(e, c.Server)
	if err != nil {
		return list, err
	}
	if at.url != "" {
		cl, err := c.over(at).client()
		if err != nil {
			return list, err
		}
		err = cl.Get(e.ctx, fmt.Sprintf("/api/runs?limit=%d", c.Limit), &list)
		return list, task("list runs", err)
	}
	a, err := c.openExisting(e)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	runs, err := eventlog.ListStored(e.ctx, a.Log, "", c.Limit)
	for _, r := range runs {
		list.Runs = append(list.Runs, server.Summarize(r))
	}
	return list, err
}

type replayCmd struct {
	config.Store
	tenantFlag
	Server string `placeholder:"URL" help:"Server that has the run. The default is the server that uses the data folder, or no server."`
	keyFlag
	Protocol string `default:"forge" help:"Protocol of the stream."`
	RunID    string `arg:"" name:"run" help:"Id of the run."`
}

// Run prints the stream of a run as the server sends it.
func (c *replayCmd) Run(e *env) (err error) {
	id := event.RunID(c.RunID)
	if !id.Valid() {
		return fmt.Errorf("replay: %.80q is not a run id", c.RunID)
	}
	at, err := c.server(e, c.Server)
	if err != nil {
		return err
	}
	if at.url != "" {
		return c.fromServer(e, c.over(at))
	}
	a, err := c.openExisting(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return c.fromLog(e, a, id)
}

func (c *replayCmd) fromLog(e *env, a *app.App, id event.RunID) error {
	for _, p := range app.Protocols() {
		if p.Name() != c.Protocol {
			continue
		}
		proj, after := p.New(), event.Seq(0)
		for {
			batch, err := a.Log.Load(e.ctx, id, after)
			if errors.Is(err, eventlog.ErrEnd) || err == nil && len(batch) == 0 { // an unfinished run that is not active
				return nil
			}
			if err != nil {
				return fmt.Errorf("replay %s: %w", id, err)
			}
			for _, f := range proj.Project(nil, batch) {
				if _, err := e.Out.Write(p.AppendFrame(nil, f)); err != nil {
					return err
				}
			}
			after = batch[len(batch)-1].Seq
		}
	}
	return fmt.Errorf("replay: unknown protocol %.40q", c.Protocol)
}

func (c *replayCmd) fromServer(e *env, at remote) error {
	cl, err := at.client()
	if err != nil {
		return err
	}
	for ev, err := range cl.StreamIn(e.ctx, c.Protocol, c.RunID, "").Events() {
		if err != nil {
			return err
		}
		id, err := wire.ParseCursor(ev.ID)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if _, err := e.Out.Write(sse.AppendFrame(nil, wire.Frame{ID: id, Event: ev.Name, Data: ev.Data})); err != nil {
			return err
		}
	}
	return nil
}
