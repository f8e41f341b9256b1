package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/ledger"
)

type ledgerCmd struct {
	Show     ledgerShowCmd     `cmd:"" help:"Show the balances of all accounts, or the newest entries of one."`
	Credit   ledgerCreditCmd   `cmd:"" help:"Give credits to an account."`
	Transfer ledgerTransferCmd `cmd:"" help:"Move credits from one account to another."`
	Verify   ledgerVerifyCmd   `cmd:"" help:"Compute all balances again from the entries and report every difference."`
	Export   ledgerExportCmd   `cmd:"" help:"Print all entries, the newest first."`
}

// ledgerOf selects the ledger of a command.
type ledgerOf struct {
	config.Store
	Tenant string `default:"default" help:"Tenant whose ledger is used."`
}

// Help returns the long help text.
func (ledgerOf) Help() string {
	return `Amounts are credits with at most 6 decimals, such as 12.50. The command works while the server runs.`
}

// book is a ledger that can be closed.
type book interface {
	ledger.Book
	Close() error
}

// with opens the ledger, which must exist, runs do and closes the ledger.
func (c *ledgerOf) with(e *env, do func(book) error) error { return c.open(e, false, do) }

// open is with, but makes a ledger if create is set and there is none.
func (c *ledgerOf) open(e *env, create bool, do func(book) error) error {
	if err := auth.ValidateTenant(c.Tenant); err != nil {
		return err
	}
	records, err := app.OpenRecords(e.ctx, e.cfg.Store)
	if err != nil {
		return err
	}
	defer records.Close()
	if err := exists(app.Folder(e.cfg.Store.Data, c.Tenant)); err != nil && !records.External() {
		return err // a mistyped folder must not be created
	}
	b, err := records.Ledger(e.ctx, c.Tenant, create && app.IsData(e.cfg.Store.Data))
	if errors.Is(err, app.ErrNoLedger) {
		return fmt.Errorf("%w; the server makes it, or sluice ledger credit in a data folder", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}

// ledgerPage is the number of rows that a command reads at once.
const ledgerPage = 1000

// shownAccount is an account in JSON. Amounts are decimals.
type shownAccount struct {
	Account   string `json:"account"`
	Balance   string `json:"balance"`
	Held      string `json:"held"`
	Available string `json:"available"`
}

type ledgerShowCmd struct {
	ledgerOf
	Account string `arg:"" optional:"" help:"Account whose entries are shown."`
	Limit   int    `default:"50" help:"Maximum number of entries."`
	JSON    bool   `name:"json" help:"Print JSON, one account or entry per line."`
}

// Run shows accounts or entries.
func (c *ledgerShowCmd) Run(e *env) error {
	return c.with(e, func(b book) error {
		if c.Account == "" {
			return c.accounts(e, b)
		}
		return c.entries(e, b)
	})
}

func (c *ledgerShowCmd) accounts(e *env, b book) error {
	var all []shownAccount
	for after, more := "", true; more; {
		list, err := b.Accounts(e.ctx, after, ledgerPage)
		if err != nil {
			return err
		}
		for _, a := range list {
			after = a.ID
			all = append(all, shownAccount{a.ID, ledger.FormatCredits(a.Balance), ledger.FormatCredits(a.Held), ledger.FormatCredits(a.Available())})
		}
		more = len(list) == ledgerPage
	}
	if c.JSON {
		return printLines(e, all...)
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "BALANCE\tHELD\tAVAILABLE\t ACCOUNT")
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t %s\n", a.Balance, a.Held, a.Available, a.Account)
	}
	return w.Flush()
}

func (c *ledgerShowCmd) entries(e *env, b book) error {
	a, err := b.Account(e.ctx, c.Account)
	if err != nil {
		return err
	}
	entries, err := b.Statement(e.ctx, c.Account, ledger.Cursor{}, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		out := make([]exportedEntry, len(entries))
		for i, n := range entries {
			out[i] = export(n)
		}
		return printLines(e, out...)
	}
	fmt.Fprintf(e.Out, "balance %s, held %s\n", ledger.FormatCredits(a.Balance), ledger.FormatCredits(a.Held))
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "TIME\tAMOUNT\tHELD\tBALANCE\t KIND\t RUN\t NOTE")
	for _, n := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t %s\t %s\t %s\n", n.At.Local().Format(time.DateTime), ledger.FormatCredits(n.Amount), ledger.FormatCredits(n.Held),
			ledger.FormatCredits(n.Balance), n.Kind, n.Run, n.Note)
	}
	return w.Flush()
}

// ledgerMove are the flags of commands that move credits.
type ledgerMove struct {
	ID   string `placeholder:"ID" help:"Id of the transfer. A command that is repeated with the same id has no effect. The default is a new one."`
	Note string `help:"Note that the statement shows."`
}

func (m ledgerMove) transfer(e *env, b book, from, to, amount string) error {
	n, err := ledger.ParseCredits(amount)
	if err != nil {
		return fmt.Errorf("amount %w", err)
	}
	t := ledger.Transfer{ID: m.ID, From: from, To: to, Amount: n, At: time.Now(), Note: m.Note}
	if t.ID == "" {
		t.ID = "tr_" + strings.ToLower(ulid.Make().String())
	}
	if err := b.Transfer(e.ctx, t); err != nil {
		return err
	}
	a, err := b.Account(e.ctx, to)
	if err == nil {
		fmt.Fprintf(e.Out, "%s: the balance of %s is %s\n", t.ID, to, ledger.FormatCredits(a.Balance))
	}
	return err
}

type ledgerCreditCmd struct {
	ledgerOf
	ledgerMove
	Account string `arg:"" help:"Account that gets the credits."`
	Amount  string `arg:"" help:"Credits, such as 12.50."`
}

// Run gives credits to an account.
func (c *ledgerCreditCmd) Run(e *env) error {
	return c.open(e, true, func(b book) error { return c.transfer(e, b, ledger.Issuer, c.Account, c.Amount) })
}

type ledgerTransferCmd struct {
	ledgerOf
	ledgerMove
	From   string `arg:"" help:"Account that pays."`
	To     string `arg:"" help:"Account that gets the credits; issuer takes them out of circulation."`
	Amount string `arg:"" help:"Credits, such as 12.50."`
}

// Run moves credits.
func (c *ledgerTransferCmd) Run(e *env) error {
	if c.From == ledger.Issuer {
		return errors.New("sluice ledger credit gives credits to an account")
	}
	return c.with(e, func(b book) error { return c.transfer(e, b, c.From, c.To, c.Amount) })
}

type ledgerVerifyCmd struct{ ledgerOf }

// Run verifies the ledger. The exit status is 1 if something does not agree.
func (c *ledgerVerifyCmd) Run(e *env) error {
	return c.with(e, func(b book) error {
		r, err := b.Verify(e.ctx)
		if err != nil {
			return err
		}
		for _, p := range r.Problems {
			fmt.Fprintln(e.Out, p)
		}
		fmt.Fprintf(e.Out, "%d accounts, %d transfers, %d entries: %d problems\n", r.Accounts, r.Transfers, r.Entries, len(r.Problems))
		if len(r.Problems) > 0 {
			return exit(1)
		}
		return nil
	})
}

type ledgerExportCmd struct {
	ledgerOf
	Format string `default:"csv" enum:"csv,json" help:"Format: csv, or json with one entry per line."`
}

// exportedEntry is an entry in JSON. Amounts are decimals.
type exportedEntry struct {
	Transfer string    `json:"transfer"`
	Time     time.Time `json:"time"`
	Kind     string    `json:"kind"`
	Account  string    `json:"account"`
	Amount   string    `json:"amount"`
	Held     string    `json:"held"`
	Balance  string    `json:"balance"`
	Run      string    `json:"run_id,omitempty"`
	Note     string    `json:"note,omitempty"`
}

func export(n ledger.Entry) exportedEntry {
	return exportedEntry{n.ID, n.At, string(n.Kind), n.Account, ledger.FormatCredits(n.Amount), ledger.FormatCredits(n.Held),
		ledger.FormatCredits(n.Balance), string(n.Run), n.Note}
}

// Run prints all entries.
func (c *ledgerExportCmd) Run(e *env) error {
	return c.with(e, func(b book) error {
		out := bufio.NewWriter(e.Out)
		write := csvExporter(csv.NewWriter(out))
		if c.Format == "json" {
			enc := json.NewEncoder(out)
			enc.SetEscapeHTML(false)
			write = func(x exportedEntry) error { return enc.Encode(x) }
		}
		for cursor := (ledger.Cursor{}); ; {
			entries, err := b.Statement(e.ctx, "", cursor, ledgerPage)
			if err != nil {
				return err
			}
			for _, n := range entries {
				cursor = n.Cursor()
				if err := write(export(n)); err != nil {
					return err
				}
			}
			if len(entries) < ledgerPage {
				return out.Flush()
			}
		}
	})
}

// csvExporter writes entries as CSV, with a row of names first.
func csvExporter(w *csv.Writer) func(exportedEntry) error {
	header := []string{"transfer", "time", "kind", "account", "amount", "held", "balance", "run_id", "note"}
	return func(x exportedEntry) error {
		rows := [][]string{{ledger.CSVText(x.Transfer), x.Time.Format(time.RFC3339Nano), ledger.CSVText(x.Kind), ledger.CSVText(x.Account), x.Amount, x.Held, x.Balance,
			ledger.CSVText(x.Run), ledger.CSVText(x.Note)}}
		if header != nil {
			rows, header = slices.Insert(rows, 0, header), nil
		}
		return w.WriteAll(rows)
	}
}
