package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Calibration computes the probability that a passage is relevant from its signals, by logistic regression:
// 1/(1+exp(-(Bias + Σ Weights·Signals))). It is fitted on questions with judged passages, with equal total weight for
// relevant and irrelevant ones, so the prior odds are even.
type Calibration struct {
	Space   string // vector space; empty: no vectors
	Bias    float64
	Weights Signals
}

// Score returns the probability, 0..1.
func (c Calibration) Score(s Signals) float64 {
	z := c.Bias
	for i, w := range c.Weights {
		z += w * s[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// Calibrations holds the calibrations of several vector spaces.
type Calibrations []Calibration

// builtIn are the results of `sluice calibrate` on one half of the questions of the public sets squad, scifact, hotpotqa,
// musique and 2wiki, for the local embedder and without vectors.
var builtIn = [...]Calibration{
	{Space: "glove-6b-100-abtt2-sif", Bias: -5.05, Weights: Signals{Cover: 2.97, Close: 4.02, Rare: 1.2, Named: 0.6, Titled: 2.64, Cosine: 1.92}},
	{Bias: -4.47, Weights: Signals{Cover: 4.1, Close: 3.77, Rare: 1.07, Named: 0.55, Titled: 2.89}},
}

// Of returns the calibration of a space, or a built-in one. For an unknown space it returns the calibration without
// vectors, because the meaning of a cosine differs between embedders.
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

// file is the JSON format of calibrations.
type file struct {
	Version      int      `json:"version"`
	Calibrations []fitted `json:"calibrations"`
}

type fitted struct {
	Space   string             `json:"space"` // empty: without vectors
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"` // by signal name; missing ones are 0
}

const (
	fileVersion = 1
	maxWeight   = 1000 // absolute value of the bias and of each weight
	maxSpaces   = 100
)

// MarshalJSON returns the file that [ParseCalibrations] reads.
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

// ParseCalibrations reads the file that `sluice calibrate --write` writes. Unknown signals, weights out of range and
// repeated spaces are errors.
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
