package parse

import "testing"

func TestUnquote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"No marks.\nAt all.", "No marks.\nAt all."},
		{"Yes.\n\n> When is\n> 5 May?\n>> On the\n>> 7 May.\nBye.", "Yes.\n\n\nWhen is\n5 May?\n\nOn the\n7 May.\n\nBye."},
		{"Fine.\n\nOn Tue, Oct 14, 2025 at 8:15 PM, Ada Vale\n<ada@example.org> wrote:\n\n> Is it\n> late?", "Fine.\n\n\nIs it\nlate?"},
		{"He said:\n\n> Go.", "He said:\n\n\nGo."},
		{"Postage:\n> 5 kg: 3 euros\n> 10 kg: 8 euros", "Postage:\n> 5 kg: 3 euros\n> 10 kg: 8 euros"},
		{"> > Twice\n> once", "Twice\n\nonce"},
	} {
		if got := unquote(c.in); got != c.want && got != "\n"+c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
