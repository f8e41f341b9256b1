package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Calibration makes of signals the probability that a passage is relevant, by a logistic function: 1/(1+exp(-(Bias + Σ
// Weights·Signals))). It is fitted on questions with judged passages, half of the weight on what is relevant and half on what is
// not: the odds before anything is known are even.
type Calibration struct {
	Space   string // of the vectors; empty: no vectors count
	Bias    float64
	Weights Signals
}

// Score gives the probability, 0..1.
func (c Calibration) Score(s Signals) float64 {
	z := c.Bias
	for i, w := range c.Weights {
		z += w * s[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// Calibrations are those of several spaces.
type Calibrations []Calibration

// builtIn are what `sluice calibrate` makes of one half of the questions of the public sets squad, scifact, hotpotqa, musique and
// 2wiki, for the local embedder and without vectors.
var builtIn = [...]Calibration{
	{Space: "glove-6b-100-abtt2-sif", Bias: -5.05, Weights: Signals{Cover: 2.97, Close: 4.02, Rare: 1.2, Named: 0.6, Titled: 2.64, Cosine: 1.92}},
	{Bias: -4.47, Weights: Signals{Cover: 4.1, Close: 3.77, Rare: 1.07, Named: 0.55, Titled: 2.89}},
}

// Of gives the calibration of a space, a built-in one where it is not among them. One that none is known for goes without its vectors: what a cosine means differs
// between embedders.
func (cs Calibrations) Of(space string) Calibration {
	for _, name := range []string{space, ""} {
		for _, c := range cs {
			if c.Space == name {
				return c
			}
		}
		for _, c := range builtIn {
			if c.Space == name {
				return c
			}
		}
	}
	return builtIn[len(builtIn)-1]
}

// file is how calibrations are written.
type file struct {
	Version      int      `json:"version"`
	Calibrations []fitted `json:"calibrations"`
}

type fitted struct {
	Space   string             `json:"space"` // empty: without vectors
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"` // by the signal's name; what is left out counts 0
}

const (
	fileVersion = 1
	maxWeight   = 1000 // of a bias and a weight, from 0
	maxSpaces   = 100
)

// MarshalJSON writes the file that [ParseCalibrations] reads.
func (cs Calibrations) MarshalJSON() ([]byte, error) {
	f := file{Version: fileVersion, Calibrations: []fitted{}}
	for _, c := range cs {
		o := fitted{Space: c.Space, Bias: c.Bias, Weights: map[string]float64{}}
		for i, w := range c.Weights {
			if w != 0 {
				o.Weights[SignalNames[i]] = w
			}
		}
		f.Calibrations = append(f.Calibrations, o)
	}
	return json.Marshal(f)
}

// ParseCalibrations reads what `sluice calibrate --write` wrote. A signal that is not known, a weight out of bounds and a space
// that stands there twice are errors.
func ParseCalibrations(data []byte) (Calibrations, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	if f.Version != fileVersion {
		return nil, fmt.Errorf("read calibrations: version %d, and this program knows %d", f.Version, fileVersion)
	}
	if len(f.Calibrations) > maxSpaces {
		return nil, errors.New("read calibrations: too many spaces")
	}
	var out Calibrations
	seen := map[string]bool{}
	for _, o := range f.Calibrations {
		if seen[o.Space] {
			return nil, fmt.Errorf("read calibrations: the space %.100q stands there twice", o.Space)
		}
		seen[o.Space] = true
		c, err := o.calibration()
		if err != nil {
			return nil, fmt.Errorf("read calibrations: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (o fitted) calibration() (Calibration, error) {
	c := Calibration{Space: o.Space, Bias: o.Bias}
	for name, w := range o.Weights {
		i := 0
		for i < nSignals && SignalNames[i] != name {
			i++
		}
		if i == nSignals {
			return c, fmt.Errorf("there is no signal %.100q", name)
		}
		c.Weights[i] = w
	}
	for _, w := range append(c.Weights[:], c.Bias) {
		if math.Abs(w) > maxWeight {
			return c, fmt.Errorf("a weight of %v", w)
		}
	}
	return c, nil
}
