package load

import (
	"context"
	"sync"
)

// Parallel calls do for 0..n-1, at most limit at once, and returns the first
// error; after one no further call begins and the context of those under way is
// cancelled.
func Parallel(ctx context.Context, n, limit int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	indexes := make(chan int)
	var wg sync.WaitGroup
	for range min(n, max(1, limit)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range indexes {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		}()
	}
	for i := range n {
		select {
		case indexes <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(indexes)
	wg.Wait()
	return context.Cause(ctx)
}
