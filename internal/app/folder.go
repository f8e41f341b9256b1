package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/natsconn"
)

// Folder returns the data folder of a tenant: that of the settings for [auth.DefaultTenant], and a folder in it for any other tenant.
func Folder(data, tenant string) string {
	if tenant == auth.DefaultTenant {
		return data
	}
	return filepath.Join(data, tenantsFolder, tenant)
}

// IsData reports whether a folder is a data folder, or empty, so that it can become one.
func IsData(folder string) bool {
	for _, name := range []string{"runs", keysFile, tenantsFolder} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 0
}

// tenantsFolder is the folder in the data folder that holds the folders of all tenants but the default one.
const tenantsFolder = "tenants"

// deletedPrefix begins the names of the folders of tenants that are being deleted. It is no name of a tenant.
const deletedPrefix = ".deleted-"

// ListTenants returns the names of the tenants that have a folder, without the default one. Other folders are ignored.
func ListTenants(data string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(data, tenantsFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != auth.DefaultTenant && auth.ValidateTenant(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// TenantSize returns the size of a tenant's files in bytes.
func TenantSize(data, tenant string) (size int64, err error) {
	root := Folder(data, tenant)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(data, tenantsFolder):
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read data folder: %w", err)
	}
	return size, nil
}

// deleteFolder deletes the folder of a tenant whose keys have ended, and its runs in NATS if conn is not nil, and its
// uploaded files elsewhere if stores is not nil. A tenant without keys and without a
// folder does not exist.
func deleteFolder(ctx context.Context, conn *natsconn.Conn, stores blobs.Tenants, cfg config.Config, data, tenant string, keys int) error {
	folder := Folder(data, tenant)
	_, err := os.Stat(folder)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && keys == 0 {
		return fault.New(fault.NotFound, "delete tenant: there is no tenant %s", tenant)
	}
	if !missing {
		lock, err := lockRuns(filepath.Join(folder, runsFolder))
		if errors.Is(err, filelog.ErrLocked) {
			err = ErrInUse
		}
		if err == nil {
			err = lock.Unlock()
		}
		if err != nil {
			return fmt.Errorf("delete tenant: %w", err)
		}
	}
	if conn != nil {
		if err := natslog.DeleteTenant(ctx, conn, "", tenant); err != nil {
			return fmt.Errorf("delete tenant: %w", err)
		}
	}
	if err := deleteIndex(ctx, cfg, tenant); err != nil {
		return fmt.Errorf("delete tenant: %w", err)
	}
	if stores != nil {
		if err := stores.Delete(ctx, tenant); err != nil {
			return fmt.Errorf("delete tenant: %w", err)
		}
	}
	if !missing {
		if err := os.Rename(folder, filepath.Join(data, tenantsFolder, deletedPrefix+rand.Text())); err != nil {
			return fmt.Errorf("delete tenant: %w", err)
		}
	}
	return removeDeleted(data)
}

// removeDeleted removes the folders of tenants that were deleted.
func removeDeleted(data string) error {
	entries, err := os.ReadDir(filepath.Join(data, tenantsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), deletedPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(data, tenantsFolder, entry.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove deleted tenants: %w", err)
	}
	return nil
}
