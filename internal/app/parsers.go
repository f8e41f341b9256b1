package app

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/external"
	"github.com/sluice-rag/sluice/ingest/sandbox"
	"github.com/sluice-rag/sluice/internal/config"
)

// Parsers parse documents in child processes, and with other programs. Call Close after use.
type Parsers struct {
	Parse ingest.Parser
	// Extensions are those of files in folders that are read although such files are commonly no documents.
	Extensions []string
	pool       *sandbox.Pool
}

// OpenParsers returns parsers with at most a number of child processes.
func OpenParsers(cfg config.Parsing, workers int, logger *slog.Logger) (*Parsers, error) {
	commands, err := external.ParseCommands(cfg.ParseCommand)
	if err != nil {
		return nil, fmt.Errorf("parse-command: %w", err)
	}
	p := &Parsers{Extensions: slices.Sorted(maps.Keys(commands))}
	p.pool = sandbox.New(sandbox.Options{Memory: int64(cfg.ParseMemory), Time: cfg.ParseTime, Workers: min(workers, sandbox.MaxWorkers), Logger: logger})
	reader := external.New(external.Options{NoOCR: cfg.OCR == "off", Languages: cfg.OCRLanguages, Time: cfg.OCRTime, Commands: commands})
	p.Parse = ingest.Parser(reader.Wrap(p.pool.Parse))
	if cfg.OCR == "pictures" {
		p.Extensions = append(p.Extensions, external.Pictures...)
	}
	return p, nil
}

// Close stops the child processes.
func (p *Parsers) Close() error { return p.pool.Close() }
