package ledger

import (
	"errors"
	"fmt"
	"strings"
)

// decimals is the number of decimals of a credit.
const decimals = 6

// micros is the number of micro-credits of a credit.
const micros = 1_000_000

// ParseCredits parses a decimal amount of credits such as 12.50: digits with at most 6 decimals, without a sign, up to [MaxCredits].
func ParseCredits(text string) (Credits, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || point && fraction == "" {
		return 0, errors.New("must be an amount such as 12.50")
	}
	if len(fraction) > decimals {
		return 0, fmt.Errorf("must have at most %d decimals", decimals)
	}
	var n Credits
	for _, d := range whole + fraction + strings.Repeat("0", decimals-len(fraction)) {
		if n > (MaxCredits-Credits(d-'0'))/10 {
			return 0, fmt.Errorf("must be at most %s", FormatCredits(MaxCredits))
		}
		n = n*10 + Credits(d-'0')
	}
	return n, nil
}

// FormatCredits returns an amount as a decimal: exact, with at least 2 decimals.
func FormatCredits(c Credits) string {
	sign, n := "", uint64(c) //nolint:gosec // the sign is handled next
	if c < 0 {
		sign, n = "-", -n
	}
	text := strings.TrimRight(fmt.Sprintf("%s%d.%06d", sign, n/micros, n%micros), "0")
	for len(text)-strings.IndexByte(text, '.') < 3 {
		text += "0"
	}
	return text
}

// CSVText returns a text for a cell of a CSV file. A spreadsheet would run a text that begins with one of =+-@ or a control character as a formula,
// so such a text gets an apostrophe before it (https://owasp.org/www-community/attacks/CSV_Injection).
func CSVText(text string) string {
	if text != "" && (strings.ContainsRune("=+-@", rune(text[0])) || text[0] < ' ') {
		return "'" + text
	}
	return text
}
