package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/blobs/natsblobs"
	"github.com/sluice-rag/sluice/blobs/s3blobs"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/natsconn"
)

// blobsMark exists in a data folder whose uploaded files are elsewhere.
const blobsMark = "files.elsewhere"

// The folders of the uploaded files in the folder of a tenant.
const (
	filesFolder = "files"
	blobsFolder = "blobs"
)

// localBlobs returns the store of the uploaded bytes in the data folder.
func localBlobs(data, tenant string) *blobs.Folder {
	return blobs.NewFolder(filepath.Join(Folder(data, tenant), filesFolder, blobsFolder))
}

// connectBlobs connects to the store of uploaded files of the settings; nil: they are in the data folder. The bytes of a folder are either in it or
// elsewhere.
func connectBlobs(ctx context.Context, cfg config.Store, logger *slog.Logger) (blobs.Tenants, error) {
	mark := filepath.Join(cfg.Data, blobsMark)
	_, err := os.Stat(mark)
	used := err == nil
	place := cfg.Blobs.Reveal()
	if place == "" {
		if used {
			return nil, fmt.Errorf("open uploaded files: those of %s are elsewhere: set --blobs to their URL, or remove %s to begin with none", cfg.Data, mark)
		}
		return nil, nil //nolint:nilnil // they are in the data folder
	}
	if err := noLocalBlobs(ctx, cfg.Data); err != nil {
		return nil, err
	}
	return dialBlobs(ctx, place, cfg, used, logger)
}

// dialBlobs connects to a store of uploaded files. A shared folder that was used must not be empty.
func dialBlobs(ctx context.Context, place string, cfg config.Store, used bool, logger *slog.Logger) (blobs.Tenants, error) {
	switch {
	case strings.HasPrefix(place, "s3:"):
		at, err := s3blobs.Parse(place)
		if err != nil {
			return nil, fmt.Errorf("blobs: %w", err)
		}
		return s3blobs.Connect(ctx, at, cfg.BlobsCredentials)
	case strings.HasPrefix(place, "file:"):
		u, err := url.Parse(place)
		if err != nil || u.Host != "" {
			return nil, errors.New("blobs: want file:///FOLDER")
		}
		return blobs.OpenShared(filepath.FromSlash(u.Path), used)
	}
	conn, err := natsconn.Connect(place, natsconn.Options{Credentials: cfg.BlobsCredentials, Log: logger})
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	return natsblobs.New(conn, natsblobs.Options{}), nil
}

// noLocalBlobs returns an error if a tenant has uploaded files in the data folder.
func noLocalBlobs(ctx context.Context, data string) error {
	names, err := ListTenants(data)
	if err != nil {
		return err
	}
	for _, tenant := range append(names, auth.DefaultTenant) {
		for _, err := range localBlobs(data, tenant).List(ctx) {
			if err == nil {
				err = fmt.Errorf("open uploaded files: %s has those of a server without --blobs; move them with sluice migrate, or use another data folder", Folder(data, tenant))
			}
			return err
		}
	}
	return nil
}

// markBlobs makes the mark of a folder whose uploaded files are elsewhere.
func markBlobs(data string) error {
	return atomicfile.WriteSync(filepath.Join(data, blobsMark), nil, 0o600)
}

// closeBlobs closes stores that may be nil.
func closeBlobs(t blobs.Tenants) error {
	if t == nil {
		return nil
	}
	return t.Close()
}
