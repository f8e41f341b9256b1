package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type keysCmd struct {
	Add    keysAddCmd    `cmd:"" help:"Add a key and print it once. With the first key, the server requires one for every request."`
	List   keysListCmd   `cmd:"" help:"List the keys, without their secrets."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key and end its logins. This cannot be undone."`
	Rotate keysRotateCmd `cmd:"" help:"Give a key a new secret and print it once."`
}

type keysAddCmd struct {
	config.Store
	Tenant  string   `default:"default" help:"Tenant whose data the key is for. A new name is a new tenant."`
	Account string   `default:"owner" help:"Account that asks and pays, and to which documents are credited."`
	Name    string   `help:"Name that says what the key is for."`
	Scope   []string `default:"ask,read" help:"What the key permits, separated by commas: ask, read, write, admin, tenants."`
	Expires string   `placeholder:"TIME" help:"When the key expires: a duration such as 90d or 12h, or a date. The default is never."`
	Rate    string   `placeholder:"N/m" help:"Limit of requests per second (s), minute (m) or hour (h), such as 60/m. The default is no limit."`
	Quota   string   `placeholder:"N/day" help:"Limit of questions per day or month in UTC, such as 1000/day. The default is no limit."`
	Origin  []string `sep:"none" placeholder:"ORIGIN" help:"Origin of web pages on other hosts that may use the key, such as https://app.example.com. Can be repeated."`
	// Collections make a key that can be public.
	Collections []string `placeholder:"NAME" help:"Collections or vector stores that questions with the key may search, separated by commas, for a page that everybody can open. Such a key has the scope ask and an account of its own. The default is all."`
	JSON        bool     `name:"json" help:"Print the key and what it permits as JSON."`
}

// Run adds a key. Only the key is printed to the standard output.
func (c *keysAddCmd) Run(e *env) error {
	now := time.Now()
	k := auth.Key{Tenant: c.Tenant, Account: c.Account, Name: c.Name, Origins: c.Origin, Collections: c.Collections}
	for _, s := range c.Scope {
		k.Scopes = append(k.Scopes, auth.Scope(s))
	}
	var err error
	if c.Rate != "" {
		if k.Rate, err = auth.ParseRate(c.Rate); err != nil {
			return err
		}
	}
	if c.Quota != "" {
		if k.Quota, err = auth.ParseQuota(c.Quota); err != nil {
			return err
		}
	}
	if c.Expires != "" {
		if k.Expires, err = parseExpiry(c.Expires, now); err != nil {
			return err
		}
	}
	return withKeys(e, true, func(keys auth.Manager) error {
		text, k, err := auth.Create(e.ctx, keys, k, now)
		if err != nil {
			return err
		}
		return printKey(e, c.JSON, text, k)
	})
}

// printKey prints the text of a key.
func printKey(e *env, asJSON bool, text string, k auth.Key) error {
	fmt.Fprintf(e.Err, "key %s of account %s in tenant %s; it is shown only once:\n", k.ID, k.Account, k.Tenant)
	if asJSON {
		return json.NewEncoder(e.Out).Encode(struct {
			auth.Key
			Text string `json:"key"`
		}{k, text})
	}
	_, err := fmt.Fprintln(e.Out, text)
	return err
}

// parseExpiry parses a duration, which may be in days, or a date, at whose beginning in UTC a key expires.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 100*365 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	return time.Time{}, fault.Invalid("expires", "want a duration such as 90d or 12h, or a date such as 2030-01-31")
}

// withKeys opens the key database of the data folder, which a server may be using.
func withKeys(e *env, create bool, do func(auth.Manager) error) (err error) {
	records, err := app.OpenRecords(e.ctx, e.cfg.Store)
	if err != nil {
		return err
	}
	defer records.Close()
	open := records.ExistingKeys
	if create {
		open = records.Keys
	}
	keys, err := open(e.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return do(keys)
}

// findKey returns a key of the list.
func findKey(e *env, keys auth.Manager, id string) (auth.Key, error) {
	list, err := keys.List(e.ctx)
	for _, k := range list {
		if k.ID == id {
			return k, nil
		}
	}
	return auth.Key{}, errors.Join(err, auth.ErrNotFound)
}

type keysListCmd struct {
	config.Store
	JSON bool `name:"json" help:"Print JSON, one key per line."`
}

// Run lists the keys.
func (c *keysListCmd) Run(e *env) error {
	return withKeys(e, false, func(keys auth.Manager) error {
		list, err := keys.List(e.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printLines(e, list...)
		}
		now := time.Now()
		w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tTENANT\tACCOUNT\tNAME\tSCOPES\tCOLLECTIONS\tLIMITS\tEXPIRES\tLAST USED\tSTATUS")
		for _, k := range list {
			status := "live"
			if !k.Revoked.IsZero() {
				status = "revoked"
			} else if k.Live(now) != nil {
				status = "expired"
			}
			scopes := make([]string, len(k.Scopes))
			for i, s := range k.Scopes {
				scopes[i] = string(s)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Tenant, k.Account, k.Name, strings.Join(scopes, ","), cmp.Or(strings.Join(k.Collections, ","), "all"),
				strings.TrimSpace(k.Rate.String()+" "+k.Quota.String()), localTime(k.Expires), localTime(k.Used), status)
		}
		return w.Flush()
	})
}

func localTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

type keysRevokeCmd struct {
	config.Store
	ID string `arg:"" name:"id" help:"Public id of the key, the part after sluice_."`
}

// Run revokes a key.
func (c *keysRevokeCmd) Run(e *env) error {
	return withKeys(e, false, func(keys auth.Manager) error { return keys.Revoke(e.ctx, c.ID, time.Now()) })
}

type keysRotateCmd struct {
	config.Store
	Overlap time.Duration `default:"0s" help:"How long the old secret and logins with it stay valid (duration)."`
	JSON    bool          `name:"json" help:"Print the key and what it permits as JSON."`
	ID      string        `arg:"" name:"id" help:"Public id of the key, the part after sluice_."`
}

// Run rotates a key.
func (c *keysRotateCmd) Run(e *env) error {
	if c.Overlap < 0 {
		return fault.Invalid("overlap", "want a duration of 0s or more")
	}
	return withKeys(e, false, func(keys auth.Manager) error {
		text, err := auth.Rotate(e.ctx, keys, c.ID, time.Now(), c.Overlap)
		if err != nil {
			return err
		}
		k, err := findKey(e, keys, c.ID)
		if err != nil {
			return err
		}
		return printKey(e, c.JSON, text, k)
	})
}
