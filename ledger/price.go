package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"path"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Price is what a run costs.
type Price struct {
	Base   Credits // of each run
	Second Credits // of a second
	Input  Credits // of a million input tokens
	Output Credits // of a million output tokens
}

// Fee returns the fee of a run: the sum of the parts, rounded once, half up, to a micro-credit. It is at most [MaxCredits].
func (p Price) Fee(d time.Duration, input, output int) Credits {
	return round(p.cost(d, input, output))
}

// cost returns the sum of the parts in millionths of a micro-credit.
func (p Price) cost(d time.Duration, input, output int) *big.Int {
	sum := new(big.Int)
	add := func(price Credits, units, scale int64) {
		part := big.NewInt(int64(price))
		sum.Add(sum, part.Mul(part, big.NewInt(max(units, 0))).Mul(part, big.NewInt(scale)))
	}
	add(p.Base, 1, 1e6)
	add(p.Second, d.Milliseconds(), 1e3)
	add(p.Input, int64(input), 1)
	add(p.Output, int64(output), 1)
	return sum
}

func round(cost *big.Int) Credits {
	fee := new(big.Int).Div(new(big.Int).Add(cost, big.NewInt(5e5)), big.NewInt(1e6))
	if fee.Cmp(big.NewInt(int64(MaxCredits))) > 0 {
		return MaxCredits
	}
	return Credits(fee.Int64())
}

// The names of prices with a meaning of their own. Other names are models.
const (
	PriceDefault = "default" // models without a price
	PriceCached  = "cached"  // answers from the cache; without it, they cost what the model costs
	PriceOwnKey  = "byok"    // runs with the caller's own key; without it, they cost what the model costs, without tokens
)

// PriceList holds prices by name. The zero value makes everything free.
type PriceList []NamedPrice

// NamedPrice is the price of the models whose name matches a pattern, in which * stands for any text and ? for one character.
type NamedPrice struct {
	Name string
	Price
}

// ParsePrice parses a price such as "gpt-4o-mini base=0.001 second=0.0005 input=0.15 output=0.60": a name and amounts in credits, each at most
// once. Amounts that are not set are 0.
func ParsePrice(text string) (NamedPrice, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return NamedPrice{}, errors.New(`must be a name and amounts, such as "gpt-4o-mini base=0.001 output=0.60"`)
	}
	p := NamedPrice{Name: fields[0]}
	if _, err := path.Match(p.Name, ""); err != nil || strings.Contains(p.Name, "=") {
		return NamedPrice{}, fmt.Errorf("%q must be a name or a pattern of names", p.Name)
	}
	parts := map[string]*Credits{"base": &p.Base, "second": &p.Second, "input": &p.Input, "output": &p.Output}
	for _, f := range fields[1:] {
		name, amount, _ := strings.Cut(f, "=")
		part := parts[name]
		if part == nil {
			return NamedPrice{}, fmt.Errorf("%q must be base=, second=, input= or output= with an amount, each once", f)
		}
		var err error
		if *part, err = ParseCredits(amount); err != nil {
			return NamedPrice{}, fmt.Errorf("%s: %w", name, err)
		}
		delete(parts, name)
	}
	return p, nil
}

// ParsePrices parses a list of prices. A name may stand in it once.
func ParsePrices(texts []string) (PriceList, error) {
	var list PriceList
	for _, text := range texts {
		p, err := ParsePrice(text)
		if err != nil {
			return nil, err
		}
		if _, twice := list.named(p.Name); twice {
			return nil, fmt.Errorf("%q has two prices", p.Name)
		}
		list = append(list, p)
	}
	return list, nil
}

func (l PriceList) named(name string) (Price, bool) {
	for _, p := range l {
		if p.Name == name {
			return p.Price, true
		}
	}
	return Price{}, false
}

// model returns the price of a model: the one of its name, else the first whose pattern matches, else the default.
func (l PriceList) model(name string) Price {
	special := func(name string) bool { return name == PriceDefault || name == PriceCached || name == PriceOwnKey }
	if p, ok := l.named(name); ok && !special(name) {
		return p
	}
	slashless := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") } // * of package path does not match slashes
	for _, p := range l {
		if ok, _ := path.Match(slashless(p.Name), slashless(name)); ok && !special(p.Name) {
			return p.Price
		}
	}
	p, _ := l.named(PriceDefault)
	return p
}

// Price returns the price of a run by its model, whether the caller's own key pays the provider, and whether the answer is from the cache.
func (l PriceList) Price(model string, ownKey, cached bool) Price {
	if cached {
		if p, ok := l.named(PriceCached); ok {
			return p
		}
	}
	p := l.model(model)
	if ownKey {
		if own, ok := l.named(PriceOwnKey); ok {
			return own
		}
		p.Input, p.Output = 0, 0
	}
	return p
}

// Limits are the most that a run may use, which determines its hold.
type Limits struct {
	Deadline time.Duration // default 30 s
	Input    int           // tokens; default 50,000
	Output   int           // tokens; default 10,000
}

func (m *Limits) setDefaults() {
	m.Deadline = cmp.Or(m.Deadline, 30*time.Second)
	m.Input, m.Output = cmp.Or(m.Input, 50_000), cmp.Or(m.Output, 10_000)
}

// Fee returns the fee of a run. The model that wrote the answer determines base and second, and the model of each step the price of its tokens.
func (l PriceList) Fee(writer string, ownKey, cached bool, d time.Duration, used []event.ModelUsed) Credits {
	p := l.Price(writer, ownKey, cached)
	cost := p.cost(d, 0, 0)
	for _, u := range used {
		of := l.Price(u.Model, ownKey, cached)
		cost.Add(cost, Price{Input: of.Input, Output: of.Output}.cost(0, u.Input, u.Output))
	}
	return round(cost)
}

// Most returns the most that a run may cost whose answer any of the models may write, or the cache. Without models, it is the most of all prices.
func (l PriceList) Most(models []string, ownKey bool, m Limits) Credits {
	m.setDefaults()
	var most Price
	add := func(p Price) {
		most = Price{max(most.Base, p.Base), max(most.Second, p.Second), max(most.Input, p.Input), max(most.Output, p.Output)}
	}
	for _, model := range models {
		add(l.Price(model, ownKey, false))
		add(l.Price(model, ownKey, true))
	}
	for _, p := range l {
		if len(models) == 0 && (p.Name != PriceOwnKey || ownKey) {
			add(p.Price)
		}
	}
	return most.Fee(m.Deadline, m.Input, m.Output)
}
