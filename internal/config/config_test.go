package config_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/golden"
)

func TestConfigurationPageIsCurrent(t *testing.T) {
	golden.Check(t, filepath.Join("..", "..", "docs", "configuration.md"), config.Markdown())
}

func TestMinimumOfCacheBytes(t *testing.T) {
	for size, want := range map[config.Size]bool{0: false, 1: true, 128<<10 - 1: true, 128 << 10: false} {
		var faults config.Faults
		_ = errors.As(config.Config{Cache: config.Cache{CacheBytes: size}}.Validate(), &faults)
		if got := slices.ContainsFunc(faults, func(f config.Fault) bool { return f.Setting == "cache-bytes" }); got != want {
			t.Errorf("cache-bytes %v: rejected %v, want %v", size, got, want)
		}
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	err := config.Config{}.Validate()
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v", err)
	}
	names := map[string]bool{}
	for _, f := range faults {
		names[f.Setting] = true
	}
	for _, name := range []string{"log-level", "data", "collection", "addr", "max-body", "max-query", "max-runs", "deadline",
		"heartbeat", "write-timeout", "drain-timeout", "keep-runs-age", "keep-runs-bytes", "max-file-bytes", "workers"} {
		if !names[name] {
			t.Errorf("the zero %s passes", name)
		}
	}
	if names["grace"] || names["docs"] {
		t.Errorf("grace 0 and no documents are allowed: %v", err)
	}
}

func TestLevel(t *testing.T) {
	for text, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		if got := (config.Log{LogLevel: text}).Level(); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]config.Size{
		"0": 0, "1": 1, "4096": 4096, "64KiB": 64 << 10, "64kib": 64 << 10, " 10 MB ": 10e6, "1.5MiB": 3 << 19, "2GiB": 2 << 30, "12B": 12,
		"7PiB": 7 << 50,
	} {
		got, err := config.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
		if again, err := config.ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%d as %q reads back as %d, %v", got, got, again, err)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "+1", "1e9", "0x10", "1.5", "1.0001KB", "1..2", "NaN", "Inf", "1KiBB", "9999999999999PiB", "9223372036854775808", "1 2"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}
