package ragevents

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
)

// Decimal is a number in millionths. Its JSON is the exact decimal number, such as 0.0236 for 23600.
type Decimal int64

// decimalUnit is the number 1.
const decimalUnit = 1_000_000

// MarshalJSON implements [json.Marshaler].
func (d Decimal) MarshalJSON() ([]byte, error) {
	sign, n := "", uint64(d) //nolint:gosec // negative numbers follow
	if d < 0 {
		sign, n = "-", -n
	}
	s := sign + strconv.FormatUint(n/decimalUnit, 10)
	if rest := n % decimalUnit; rest > 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
	}
	return []byte(s), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. A number that is not a whole number of millionths is an error.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil || len(n) > 40 || string(n) != string(data) {
		return fmt.Errorf("decode decimal: %.40q is not a decimal number", data)
	}
	if strings.ContainsAny(string(n), "eE") { // 1e999999999 would be a large number
		return fmt.Errorf("decode decimal: %s has an exponent", n)
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return fmt.Errorf("decode decimal: %.40q is not a decimal number", data)
	}
	r.Mul(r, big.NewRat(decimalUnit, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return fmt.Errorf("decode decimal: %s is not a whole number of millionths in 64 bits", n)
	}
	*d = Decimal(r.Num().Int64())
	return nil
}

// decimalOf converts an amount, and keeps nil.
func decimalOf(c *event.Credits) *Decimal {
	if c == nil {
		return nil
	}
	return new(Decimal(*c))
}

// seconds converts milliseconds.
func seconds(ms event.Millis) Decimal { return Decimal(ms) * (decimalUnit / 1000) }
