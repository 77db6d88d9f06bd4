package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path, 5); err != nil || string(b) != "12345" {
		t.Errorf("got %q, %v", b, err)
	}
	for _, endless := range []string{path, "/dev/zero"} {
		if b, err := ReadFile(endless, 4); b != nil || err == nil || !strings.Contains(err.Error(), endless+": it is too large: more than the 4 bytes") || !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %d bytes, %v", endless, len(b), err)
		}
	}
	if _, err := ReadFile(path+"x", 5); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
