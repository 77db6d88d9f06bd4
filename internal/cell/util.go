package cell

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"cellbench/internal/config"
)

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// connectTimeout bounds one attempt to connect.
func connectTimeout(cfg *config.Config) time.Duration {
	const least = time.Second
	return max(cfg.ConnectTimeout.Std(), least)
}

// seedOf returns the seed in use: the one set, or one drawn now.
func seedOf(cfg *config.Config) int64 {
	if cfg.RandSeed != 0 {
		return cfg.RandSeed
	}
	var b [8]byte
	// crypto/rand never fails on the systems Go supports.
	_, _ = rand.Read(b[:])
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}
