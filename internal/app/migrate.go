package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/config"
)

// MigrateOptions configure [Migrate]. The zero value works.
type MigrateOptions struct {
	Progress func(part string, done int) // called for each run, row, file and blob, with how many of the part are copied
	Logger   *slog.Logger
}

// MigratedPart is what [Migrate] compared at its end.
type MigratedPart struct {
	Tenant   string `json:"tenant,omitempty"` // empty: of all tenants
	Part     string `json:"part"`
	Count    int    `json:"count"`    // runs, rows, blobs, documents with sets, or files
	Checksum string `json:"checksum"` // of the source and of the target, in hex
}

// migrationFile is in a target from the beginning of a migration to its end. It says which parts are copied. A server does not start with it.
const migrationFile = "migration.json"

// migration is one call of [Migrate].
type migration struct {
	from, to *side
	o        MigrateOptions
	tenant   string // of the part that is migrated
	state    migrationState
}

// migrationState is the content of [migrationFile].
type migrationState struct {
	From string   `json:"from"` // data folder
	Done []string `json:"done"` // tenants with parts
}

// side is the source or the target of a migration: a data folder with its engines.
type side struct {
	cfg     config.Config
	shared  *Shared // of which a log needs a part only
	records *Records
	blobs   blobs.Tenants // nil: in the data folder
	log     RunLog        // of the default tenant; it locks the data folder
}

// Migrate copies everything of a data folder and its engines to another data folder and its engines: runs, records, uploaded files and the index. The
// target is empty, or the target of a migration from the same source that was interrupted, which is then completed. At the end, both sides are
// compared. Nothing is removed from the source. No server may use either side: [ErrInUse].
//
// Caches are not copied.
func Migrate(ctx context.Context, from, to config.Config, o MigrateOptions) (parts []MigratedPart, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string, int) {}
	}
	if same, err := sameFolder(from.Store.Data, to.Store.Data); err != nil || same {
		return nil, errors.Join(err, errors.New("migrate: the source and the target need data folders of their own"))
	}
	if _, err := os.Stat(from.Store.Data); err != nil {
		return nil, fmt.Errorf("migrate: open source: %w", err)
	}
	m := &migration{o: o}
	if m.from, err = openSide(ctx, from, false, o.Logger); err != nil {
		return nil, fmt.Errorf("migrate: open source: %w", err)
	}
	defer func() { err = errors.Join(err, m.from.close()) }()
	if m.to, err = openSide(ctx, to, true, o.Logger); err != nil {
		return nil, fmt.Errorf("migrate: open target: %w", err)
	}
	defer func() { err = errors.Join(err, m.to.close()) }()
	if err := m.begin(); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if parts, err = m.run(ctx); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return parts, atomicfile.Remove(m.statePath())
}

func sameFolder(a, b string) (bool, error) {
	a, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	b, err = filepath.Abs(b)
	return a == b, err
}

// openSide opens a side. A target is created, and marked like the data folder of a server with these settings.
func openSide(ctx context.Context, cfg config.Config, target bool, logger *slog.Logger) (s *side, err error) {
	if target {
		if err := os.MkdirAll(cfg.Store.Data, 0o700); err != nil {
			return nil, err
		}
	}
	if cfg.Store.RunLog == "" {
		cfg.Keep = config.Keep{} // opening the log deletes nothing
	}
	s = &side{cfg: cfg, shared: &Shared{Config: cfg, logger: logger}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
			s = nil
		}
	}()
	if s.records, err = OpenRecords(ctx, cfg.Store); err != nil {
		return s, err
	}
	if s.shared.logConn, err = connectLog(cfg.Store, logger); err != nil {
		return s, err
	}
	if err = s.unused(ctx); err != nil {
		return s, err
	}
	if s.blobs, err = connectBlobs(ctx, cfg.Store, logger); err != nil {
		return s, err
	}
	if target {
		if err = s.records.mark(); err == nil && s.blobs != nil {
			err = markBlobs(cfg.Store.Data)
		}
		if err != nil {
			return s, err
		}
	}
	s.log, err = s.openLog(ctx, auth.DefaultTenant)
	return s, err
}

// unused returns [ErrInUse] if a server is connected to an engine. The lock of the data folder is taken with the log.
func (s *side) unused(ctx context.Context) error {
	if s.records.db != nil {
		if err := awaitUnused(ctx, s.records.db.InUse); err != nil {
			return fmt.Errorf("the database of --store: %w", err)
		}
	}
	if s.shared.logConn != nil {
		err := awaitUnused(ctx, func(ctx context.Context) (bool, error) {
			return natslog.InUse(ctx, s.shared.logConn, "", auth.DefaultTenant)
		})
		if err != nil {
			return fmt.Errorf("the run log of --log: %w", err)
		}
	}
	return nil
}

// lastConnections is how long an engine may show the connections of a server that has just stopped.
const lastConnections = 3 * time.Second

// awaitUnused waits until an engine is not used any more, or returns [ErrInUse].
func awaitUnused(ctx context.Context, used func(context.Context) (bool, error)) error {
	for began := time.Now(); ; {
		switch is, err := used(ctx); {
		case err != nil || !is:
			return err
		case time.Since(began) > lastConnections:
			return ErrInUse
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *side) openLog(ctx context.Context, tenant string) (RunLog, error) {
	cfg := s.cfg
	cfg.Store.Data = Folder(cfg.Store.Data, tenant)
	log, err := s.shared.openLog(ctx, tenant, cfg, 0, s.shared.logger)
	if err != nil {
		return nil, inUse(cfg.Store.Data, err) // not a log that is a nil pointer
	}
	return log, nil
}

// store returns the store of the uploaded bytes of a tenant.
func (s *side) store(ctx context.Context, tenant string) (blobs.Store, error) {
	if s.blobs == nil {
		return localBlobs(s.cfg.Store.Data, tenant), nil
	}
	return s.blobs.Open(ctx, tenant)
}

func (s *side) close() error {
	var err error
	if s.log != nil {
		err = s.log.Close()
	}
	if s.records != nil {
		s.records.Close()
	}
	return errors.Join(err, closeBlobs(s.blobs), closeLog(s.shared.logConn))
}

func (m *migration) statePath() string { return filepath.Join(m.to.cfg.Store.Data, migrationFile) }

// begin reads what an interrupted migration has done, or begins one.
func (m *migration) begin() error {
	source, err := filepath.Abs(m.from.cfg.Store.Data)
	if err != nil {
		return err
	}
	if m.state, err = readMigration(m.to.cfg.Store.Data); err != nil {
		return err
	}
	if m.state.From != "" && m.state.From != source {
		return fmt.Errorf("the target has an incomplete migration from %s: complete that one, or use an empty target", m.state.From)
	}
	m.state.From = source
	return m.save()
}

// readMigration reads the state of an incomplete migration to a data folder. Without one, it is zero.
func readMigration(data string) (state migrationState, err error) {
	raw, err := os.ReadFile(filepath.Join(data, migrationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	return state, err
}

// noMigration returns an error if a migration to a data folder is not complete.
func noMigration(data string) error {
	switch state, err := readMigration(data); {
	case err != nil:
		return err
	case state.From != "":
		return fmt.Errorf("open %s: a migration from %s is not complete: run sluice migrate again", data, state.From)
	}
	return nil
}

func (m *migration) save() error {
	raw, err := json.Marshal(m.state)
	if err != nil {
		return err
	}
	return atomicfile.WriteSync(m.statePath(), raw, 0o600)
}

// run migrates all parts of all tenants. Then it compares all of them.
func (m *migration) run(ctx context.Context) (parts []MigratedPart, err error) {
	tenants, err := m.from.records.tenants(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(tenants)
	tenants = append([]string{auth.DefaultTenant}, slices.Compact(tenants)...)
	for _, compare := range []bool{false, true} {
		if parts, err = m.parts(ctx, "", compare, keyParts); err != nil {
			return nil, err
		}
		for _, tenant := range tenants {
			more, err := m.parts(ctx, tenant, compare, tenantParts)
			if err != nil {
				return nil, fmt.Errorf("tenant %s: %w", tenant, err)
			}
			parts = append(parts, more...)
		}
	}
	return parts, nil
}

// migratedPart copies and compares a part of a tenant.
type migratedPart struct {
	name    string
	copy    func(ctx context.Context, m *migration) error
	compare func(ctx context.Context, m *migration) (from, to tally, err error)
}

// tally is how many things a side has, with their checksum.
type tally struct {
	count int
	sum   [32]byte
}

// add adds the hash of one thing, in any order.
func (t *tally) add(h [32]byte) {
	t.count++
	carry := 0
	for i := range t.sum {
		carry += int(t.sum[i]) + int(h[i])
		t.sum[i], carry = byte(carry), carry>>8
	}
}

var (
	keyParts    = []migratedPart{recordsPart("keys", keysTables)}
	tenantParts = []migratedPart{
		recordsPart("files", filesTables), recordsPart("sessions", sessionTables), recordsPart("ledger", ledgerTables), recordsPart("calls", callsTables),
		{"blobs", copyBlobs, compareBlobs}, {indexPart, copyIndex, compareIndex}, {"other files", copyOthers, compareOthers}, {"runs", copyRuns, compareRuns},
	}
)

// indexPart is the name of the index, and of its folder.
const indexPart = "index"

// otherIndex reports whether the index of a side is not in its data folder.
func (m *migration) otherIndex() bool { return m.from.cfg.Index.URL != "" || m.to.cfg.Index.URL != "" }

// parts copies the parts of a tenant that are not copied yet, or compares them.
func (m *migration) parts(ctx context.Context, tenant string, compare bool, all []migratedPart) (out []MigratedPart, err error) {
	m.tenant = tenant
	for _, p := range all {
		name := tenant + "/" + p.name
		if compare {
			from, to, err := p.compare(ctx, m)
			if err != nil {
				return nil, fmt.Errorf("compare %s: %w", p.name, err)
			}
			if from != to {
				return nil, fmt.Errorf("compare %s: the source has %d with the checksum %x, the target %d with %x", p.name, from.count, from.sum[:8], to.count, to.sum[:8])
			}
			out = append(out, MigratedPart{Tenant: tenant, Part: p.name, Count: to.count, Checksum: fmt.Sprintf("%x", to.sum[:8])})
			continue
		}
		if slices.Contains(m.state.Done, name) {
			continue
		}
		if err := p.copy(ctx, m); err != nil {
			return nil, fmt.Errorf("copy %s: %w", p.name, err)
		}
		m.state.Done = append(m.state.Done, name)
		if err := m.save(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
