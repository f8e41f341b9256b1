package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model/transport"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/sqldb/postgres"
)

// diagnoses check the engines. Each returns nothing if the settings do not use its engine. They need no data folder that is open.
var diagnoses = []func(context.Context, config.Config) []doctor.Finding{diagnoseFolder, diagnoseLog, diagnoseRecords, diagnoseIndex, diagnoseBlobs, diagnoseModels}

// Diagnose checks each engine of the settings. It changes nothing that servers use: what it writes for a test, it removes.
func Diagnose(ctx context.Context, cfg config.Config) []doctor.Finding {
	found := make([][]doctor.Finding, len(diagnoses))
	var checks sync.WaitGroup
	for i, diagnose := range diagnoses {
		checks.Go(func() { found[i] = diagnose(ctx, cfg) })
	}
	checks.Wait()
	return slices.Concat(found...)
}

// Free space of the data folder below which questions and uploads are refused, and below which it is soon so.
const (
	leastFree = 2 * reserve.DefaultSize
	scantFree = 1 << 30
)

// diagnoseFolder checks the data folder.
func diagnoseFolder(_ context.Context, cfg config.Config) []doctor.Finding {
	f := doctor.Finding{Part: "data", Engine: "folder", Address: cfg.Store.Data}
	dir := cfg.Store.Data
	info, err := os.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing:
		f.Detail("it does not exist yet; the server creates it")
		if dir, info, err = existing(dir); err != nil {
			f.Fail(err.Error(), "choose another folder with --data")
			return []doctor.Finding{f}
		}
	case err != nil:
		f.Fail(err.Error(), "permit the user of the server to read it")
		return []doctor.Finding{f}
	}
	if !info.IsDir() {
		f.Fail(dir+" is not a folder", "choose another folder with --data")
		return []doctor.Finding{f}
	}
	if !missing && info.Mode().Perm()&0o077 != 0 {
		f.Warn("other users of this machine can open it", "chmod 700 "+dir)
	}
	if free, err := reserve.Free(dir); err == nil {
		f.Detail("%.1f GiB are free", float64(free)/(1<<30))
		switch {
		case free < leastFree:
			f.Fail("the disk is full: questions and uploads are refused", "free space on it")
		case free < scantFree:
			f.Warn("less than 1 GiB of the disk is free", "free space on it, or set --keep-runs-bytes and --keep-runs-age")
		}
	}
	if cfg.Index.URL == "" {
		// While a server has the index open, the command asks the server.
		if has, err := embedded.HasDocuments(filepath.Join(cfg.Store.Data, "index")); err == nil && !has {
			NothingIndexed(&f)
		}
	}
	begin := time.Now()
	if err := writable(dir); err != nil {
		f.Fail("it cannot be written: "+err.Error(), "permit the user of the server to write it")
	} else {
		f.SetRoundTrip(time.Since(begin))
	}
	return []doctor.Finding{f}
}

// NothingIndexed adds to the finding of the data folder that there are no documents.
func NothingIndexed(f *doctor.Finding) {
	f.Detail(`no document is indexed: add some with "sluice ingest FOLDER" or "sluice serve --docs FOLDER"`)
}

// existing returns the nearest folder above a path that exists.
func existing(path string) (string, fs.FileInfo, error) {
	for {
		above := filepath.Dir(path)
		info, err := os.Stat(above)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || above == path {
			return above, info, err
		}
		path = above
	}
}

// diagnoseLog checks the NATS servers of the run log.
func diagnoseLog(ctx context.Context, cfg config.Config) []doctor.Finding {
	if cfg.Store.RunLog == "" {
		return nil
	}
	return natslog.Diagnose(ctx, cfg.Store.RunLog, "--log", natsconn.Options{Credentials: cfg.Store.LogCredentials},
		natslog.Options{Replicas: cfg.Store.LogReplicas, MaxBytes: int64(cfg.Keep.KeepRunsBytes)})
}

// diagnoseRecords checks the database of the records, and that the data folder belongs to it.
func diagnoseRecords(ctx context.Context, cfg config.Config) []doctor.Finding {
	f := doctor.Finding{Part: "records", Engine: "SQLite", Address: cfg.Store.Data}
	if cfg.Store.Records != "" {
		f = postgres.Diagnose(ctx, cfg.Store.Records.Reveal(), "--store", keysSchema, schemaPrefix)
	}
	if err := checkPlace(cfg.Store); err != nil {
		f.Fail(err.Error(), "use the --data and the --store that belong together")
	} else if cfg.Store.Records == "" {
		return nil
	}
	return []doctor.Finding{f}
}

// diagnoseIndex checks the Weaviate of the index.
func diagnoseIndex(ctx context.Context, cfg config.Config) []doctor.Finding {
	if cfg.Index.URL == "" {
		return nil
	}
	return []doctor.Finding{weaviate.Diagnose(ctx, weaviateOptions(cfg, auth.DefaultTenant, nil), "--index", "SLUICE_INDEX_KEY or --index-key-file")}
}

// diagnoseBlobs checks the store of uploaded files: it writes, reads and deletes a blob of a tenant of its own.
func diagnoseBlobs(ctx context.Context, cfg config.Config) []doctor.Finding {
	if cfg.Store.Blobs == "" {
		return nil
	}
	f := doctor.Finding{Part: "files", Engine: "folder"}
	const setting = "--blobs"
	u, err := url.Parse(cfg.Store.Blobs.Reveal())
	switch {
	case err != nil:
		f.Fail("it is not a URL", "correct "+setting)
		return []doctor.Finding{f}
	case u.Scheme == "file":
		if f.Address = filepath.FromSlash(u.Path); !blobs.IsShared(f.Address) { // opening it would make it one
			f.Fail("it holds no uploaded files of Sluice", "mount its file system, or start a server, which begins with an empty folder")
			return []doctor.Finding{f}
		}
	case u.Scheme == "s3":
		f.Engine, f.Address = "S3", u.Host
	default:
		f.Engine, f.Address = "NATS", u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, 4*maxCheck)
	defer cancel()
	var took time.Duration
	place, err := dialBlobs(ctx, cfg.Store.Blobs.Reveal(), cfg.Store, true, slog.New(slog.DiscardHandler))
	if err == nil {
		took, err = blobs.Try(ctx, place, "doctor-"+strings.ToLower(rand.Text()))
		err = errors.Join(err, place.Close())
	}
	switch {
	case err == nil:
		f.Detail("a file was written, read and deleted in %v", took.Round(100*time.Microsecond))
	case !f.Unreachable(err, setting):
		f.Fail(transport.WithoutURL(err).Error(), "correct "+setting+" or the rights of its user, or see the log of that server")
	}
	return []doctor.Finding{f}
}

// diagnoseModels asks each server of models for the list of its models, which costs nothing.
func diagnoseModels(ctx context.Context, cfg config.Config) []doctor.Finding {
	var all []config.Endpoint
	for _, e := range append(cfg.Models.Chain(), cfg.Models.Embedding()) {
		if e.Kind != config.KindLocal && !slices.Contains(all, e) && (e != cfg.Models.Embedding() || cfg.Models.Embeds()) {
			all = append(all, e)
		}
	}
	out := make([]doctor.Finding, len(all))
	client := transport.Client(nil)
	defer client.CloseIdleConnections()
	var checks sync.WaitGroup
	for i, e := range all {
		checks.Go(func() {
			out[i] = diagnoseModel(ctx, client, e, cfg.KeyFor(e).Reveal(), slices.Contains(cfg.Models.Chain(), e))
		})
	}
	checks.Wait()
	return out
}

func diagnoseModel(ctx context.Context, client *http.Client, e config.Endpoint, key string, writes bool) doctor.Finding {
	f := doctor.Finding{Part: "model", Engine: e.Kind}
	setting := "--model-url"
	if !writes {
		f.Part, setting = "embedder", "--embed-url"
	}
	at, err := transport.Address(e.Address())
	if err != nil {
		f.Fail(err.Error(), "correct "+setting)
		return f
	}
	f.Address = at.Host
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	begin := time.Now()
	status, names, err := listModels(ctx, client, e, at, key)
	switch {
	case err != nil && !f.Unreachable(err, setting):
		f.Fail("it cannot be reached: "+transport.WithoutURL(err).Error(), "check the server and "+setting)
	case err != nil:
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		variable := "OPENAI_API_KEY"
		if e.Kind == config.KindAnthropic {
			variable = "ANTHROPIC_API_KEY"
		}
		text := "it refuses the key"
		if key == "" {
			text = "it needs a key"
		}
		f.Fail(text, "set "+variable)
	case status == http.StatusNotFound:
		f.Warn("it has no list of models at this address", "check the path in "+setting+", which often ends in /v1, and run \"sluice models check\"")
	case status/100 != 2:
		f.Fail(fmt.Sprintf("it replies with the HTTP status %d", status), "see the log of that server")
	case e.Name != "" && len(names) > 0 && !slices.Contains(names, e.Name):
		f.Warn(fmt.Sprintf("its list of models does not have %s", e.Name), "correct the name, and run \"sluice models check\"")
	}
	if err == nil {
		f.SetRoundTrip(time.Since(begin))
	}
	return f
}

// listModels returns the status of the reply to a request for the models of a server, and their names.
func listModels(ctx context.Context, client *http.Client, e config.Endpoint, base *url.URL, key string) (status int, names []string, err error) {
	u := *base
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path == "" || e.Kind == config.KindAnthropic {
		u.Path = strings.TrimSuffix(u.Path, "/v1") + "/v1"
	}
	u.Path += "/models"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case key != "" && e.Kind == config.KindAnthropic:
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if json.NewDecoder(io.LimitReader(res.Body, 4<<20)).Decode(&list) == nil {
		for _, m := range list.Data {
			names = append(names, m.ID)
		}
	}
	return res.StatusCode, names, nil
}
