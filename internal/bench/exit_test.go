package bench

import "testing"

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"":                    "",
		"plain – and wide":    "plain – and wide",
		"two\nlines\tand tab": `two\nlines\tand tab`,
		"\x1b[31mred\x7f":     `\x1b[31mred\x7f`,
		"next\u0085line":      `next\u0085line`,
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
