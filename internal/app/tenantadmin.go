package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/server/admin"
)

// TenantInfo describes a tenant.
type TenantInfo = admin.Tenant

// TenantNames returns the names of all tenants: the default one, and those that have a folder, records in a database or a key that is not revoked. They
// are sorted, after the default one.
func (r *Records) TenantNames(ctx context.Context, keys []auth.Key) ([]string, error) {
	names, err := r.tenants(ctx)
	for _, k := range keys {
		if k.Revoked.IsZero() && k.Tenant != auth.DefaultTenant {
			names = append(names, k.Tenant)
		}
	}
	slices.Sort(names)
	return append([]string{auth.DefaultTenant}, slices.Compact(names)...), err
}

// DescribeTenant describes a tenant by its folder and the keys of all tenants. It does not open the tenant.
func DescribeTenant(data, name string, keys []auth.Key) (TenantInfo, error) {
	out := TenantInfo{Name: name}
	if info, err := os.Stat(filepath.Join(Folder(data, name), "runs", "lock")); err == nil { // it is created with the folder, and never written
		out.Created = info.ModTime().UTC()
	}
	now := time.Now()
	for _, k := range keys {
		if k.Tenant != name || !k.Revoked.IsZero() {
			continue
		}
		if out.Created.IsZero() || k.Created.Before(out.Created) {
			out.Created = k.Created
		}
		if k.Used.After(out.Used) {
			out.Used = k.Used
		}
		if k.Live(now) == nil {
			out.Keys++
		}
	}
	var err error
	out.Bytes, err = TenantSize(data, name)
	return out, err
}

// tenantAdmin implements [admin.Tenants].
type tenantAdmin struct{ *Tenants }

// List implements [admin.Tenants].
func (t tenantAdmin) List(ctx context.Context, after string, limit int) (out []admin.Tenant, more bool, err error) {
	keys, names, err := t.names(ctx)
	if err != nil {
		return nil, false, err
	}
	data := t.shared.Config.Store.Data
	if after != "" {
		names = slices.DeleteFunc(names, func(name string) bool {
			return name == auth.DefaultTenant || after != auth.DefaultTenant && name <= after
		})
	}
	more = len(names) > limit
	open := t.apps()
	for _, name := range names[:min(limit, len(names))] {
		one, err := describe(data, name, keys, open)
		if err != nil {
			return nil, false, err
		}
		out = append(out, one)
	}
	return out, more, nil
}

// Get implements [admin.Tenants].
func (t tenantAdmin) Get(ctx context.Context, name string) (admin.Tenant, error) {
	keys, names, err := t.names(ctx)
	if err == nil && !slices.Contains(names, name) {
		err = fault.New(fault.NotFound, "there is no such tenant")
	}
	if err != nil {
		return admin.Tenant{}, err
	}
	return describe(t.shared.Config.Store.Data, name, keys, t.apps())
}

// describe is [DescribeTenant] with what only the server knows.
func describe(data, name string, keys []auth.Key, open map[string]*App) (admin.Tenant, error) {
	out, err := DescribeTenant(data, name, keys)
	if a := open[name]; a != nil {
		out.Open, out.Live = true, a.Engine.Live()
	}
	return out, err
}

// names returns the keys and the names of all tenants.
func (t tenantAdmin) names(ctx context.Context) (keys []auth.Key, names []string, err error) {
	if keys, err = t.shared.keys.List(ctx); err == nil {
		names, err = t.shared.records.TenantNames(ctx, keys)
	}
	return keys, names, err
}

// Create implements [admin.Tenants].
func (t tenantAdmin) Create(ctx context.Context, k auth.Key, at time.Time) (text string, added auth.Key, err error) {
	if err := k.Validate(); err != nil {
		return "", k, err
	}
	t.creating.Lock()
	defer t.creating.Unlock()
	_, names, err := t.names(ctx)
	if err != nil {
		return "", k, err
	}
	if slices.Contains(names, k.Tenant) {
		return "", k, &fault.Error{Code: fault.Conflict, Field: "tenant", Message: "tenant: there already is a tenant " + k.Tenant}
	}
	return auth.Create(ctx, t.shared.keys, k, at)
}

// readersWait is how long readers of runs that were cancelled for a deletion may take to get their end. Then the contexts of all requests end.
const readersWait = 2 * time.Second

// Delete implements [admin.Tenants]. The keys end first, so that no further requests come. It cancels the live runs and waits for the requests. If ctx
// ends before them, the error is [fault.Conflict], and the tenant can be deleted later.
func (t tenantAdmin) Delete(ctx context.Context, name string) error {
	if err := checkDeletable(name); err != nil {
		return err
	}
	ended, err := t.shared.keys.EndTenant(context.WithoutCancel(ctx), name, time.Now())
	if err != nil {
		return err
	}
	e, err := t.seize(name)
	if err != nil {
		return err
	}
	defer t.work.Done()
	if e.app != nil {
		_ = e.app.Engine.Close(stopped()) // the error is that of the context
		cut := time.AfterFunc(readersWait, e.cancel)
		defer cut.Stop()
		select {
		case <-e.unused:
		case <-ctx.Done():
			t.work.Go(func() { <-e.unused; t.closeTenant(e) })
			return fault.New(fault.Conflict, "the keys of the tenant are revoked, but it still has requests: delete it again in a minute")
		}
		t.shut(e)
	}
	err = t.shared.records.deleteTenant(ctx, t.shared.logConn, t.shared.blobs, t.shared.Config, name, ended)
	e.deleted = err == nil
	t.remove(e)
	if err == nil {
		t.logger.Info("tenant deleted", "tenant", name, "keys", ended)
	}
	return err
}

// seize makes a tenant unavailable for further requests, which wait until it is removed from the table. The caller calls work.Done after that. If the
// tenant is open, its channel unused is closed when it has no more requests.
func (t *Tenants) seize(name string) (*tenant, error) {
	for {
		e, wait, err := t.trySeize(name)
		if err != nil || wait == nil {
			return e, err
		}
		<-wait
	}
}

// trySeize is seize, unless the tenant is being opened or closed. Then it returns a channel that is closed afterwards.
func (t *Tenants) trySeize(name string) (e *tenant, wait <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, nil, errStopping
	}
	e = t.open[name]
	switch {
	case e == nil:
		e = newTenant(name)
		t.open[name] = e
	case e.leaving:
		return nil, e.closed, nil
	default:
		select {
		case <-e.ready:
		default:
			e.giveUp()
			return nil, e.ready, nil
		}
	}
	e.leaving = true
	if e.users == 0 {
		close(e.unused)
	}
	t.work.Add(1)
	return e, nil, nil
}

// DeleteTenant revokes the keys of a tenant other than the default one, and deletes its folder, which no process may have open: [ErrInUse]. The keys may
// be nil. A crash leaves either the whole folder or none of it; the next call removes what is left on the disk.
func DeleteTenant(ctx context.Context, cfg config.Config, tenant string, keys auth.Manager) (err error) {
	if err := checkDeletable(tenant); err != nil {
		return err
	}
	var ended int
	if keys != nil {
		var err error
		if ended, err = keys.EndTenant(ctx, tenant, time.Now()); err != nil {
			return err
		}
	}
	records, err := OpenRecords(ctx, cfg.Store)
	if err != nil {
		return fmt.Errorf("delete tenant: %w", err)
	}
	defer records.Close()
	conn, err := connectLog(cfg.Store, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("delete tenant: %w", err)
	}
	defer func() { err = errors.Join(err, closeLog(conn)) }()
	stores, err := connectBlobs(ctx, cfg.Store, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("delete tenant: %w", err)
	}
	defer func() { err = errors.Join(err, closeBlobs(stores)) }()
	return records.deleteTenant(ctx, conn, stores, cfg, tenant, ended)
}

// deleteTenant deletes the records and the folder of a tenant of which so many keys have ended.
func (r *Records) deleteTenant(ctx context.Context, conn *natsconn.Conn, stores blobs.Tenants, cfg config.Config, tenant string, keys int) error {
	existed, err := r.delete(context.WithoutCancel(ctx), tenant)
	if err != nil {
		return fmt.Errorf("delete tenant: %w", err)
	}
	if existed {
		keys++ // it exists also without a folder
	}
	return deleteFolder(ctx, conn, stores, cfg, r.Data, tenant, keys)
}

func checkDeletable(tenant string) error {
	if err := auth.ValidateTenant(tenant); err != nil {
		return err
	}
	if tenant == auth.DefaultTenant {
		return fault.New(fault.Conflict, "the default tenant cannot be deleted; delete the data folder instead")
	}
	return nil
}
