package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/internal/config"
)

// calibrationFile is the file in the data folder that `sluice calibrate --write` writes.
const calibrationFile = "calibration.json"

// LoadCalibrations reads the file of the settings, or else the one in the data folder. It returns nil if neither exists.
func LoadCalibrations(cfg config.Config) (grade.Calibrations, error) {
	path := cfg.Models.Calibration
	if path == "" {
		path = filepath.Join(cfg.Store.Data, calibrationFile)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && cfg.Models.Calibration == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	return grade.ParseCalibrations(data)
}
