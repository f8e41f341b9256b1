package local

import "testing"

func TestEnumerates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"The club bears electricity, water and cleaning.":                                 true,
		"Present: Ada Vale (chair), Per Lund, Ida Holm, Nils Dahl.":                       true,
		"Im Preis sind Westen, Paddel und eine Karte enthalten.":                          true,
		"禁止事项：吸烟、烧烤、放风筝、喂鸟。":                                                              true,
		"If you cancel, we charge a fee that depends on how long you have been a member.": false,
		"It opened in 1987.":                false,
		"The fee is 1,200 € and is due now": false,
		"":                                  false,
		":":                                 false,
	} {
		if got := enumerates(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
