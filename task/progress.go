package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/workload/dataset"
)

// progress shows how a cell is getting on: on a terminal one line that is drawn
// again and again, elsewhere one line for each thing worth a line.
type progress struct {
	w        io.Writer
	terminal bool
	sysbench bool // interval lines as sysbench prints them

	mu       sync.Mutex
	drawn    bool // a line without its end stands on the terminal
	lastRows time.Time
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w)}
}

// line prints a whole line.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// draw replaces the line on the terminal.
func (p *progress) draw(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprint(p.w, text)
	p.drawn = true
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// done removes the line that is being drawn.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) Step(text string) {
	if p.terminal {
		p.draw(text + " ...")
		return
	}
	p.line("%s", text)
}

func (p *progress) Warn(text string) { p.line("warning: %s", bench.Printable(text)) }

func (p *progress) Rows(d dataset.Progress) {
	text := rowsText(d)
	if p.terminal {
		p.draw(text)
		return
	}
	// Without a terminal every line stays, so there are few.
	now := time.Now()
	if d.Done && d.Phase == dataset.PhaseLoad || now.Sub(p.lastRows) > 5*time.Second {
		p.lastRows = now
		p.line("%s", text)
	}
}

func rowsText(d dataset.Progress) string {
	share := 1.0
	if d.Total > 0 {
		share = float64(d.Rows) / float64(d.Total)
	}
	if d.Phase == dataset.PhaseCheck {
		return fmt.Sprintf("counting %s %3.0f%%  %s of %s rows", bar(share), 100*share, thousands(d.Rows), thousands(d.Total))
	}
	text := fmt.Sprintf("loading %s %3.0f%%  %s of %s rows, %s rows/s", bar(share), 100*share, thousands(d.Rows), thousands(d.Total), thousands(int64(d.PerSecond)))
	switch {
	case d.Done:
		return text + fmt.Sprintf(", done in %s", d.Elapsed.Round(100*time.Millisecond))
	case d.Indexing > 0:
		text += fmt.Sprintf(", making the index of %d tables", d.Indexing)
	}
	if d.Remaining > 0 {
		text += fmt.Sprintf(", %s left", d.Remaining.Round(time.Second))
	}
	return text
}

func (p *progress) Warmup(left time.Duration) {
	text := fmt.Sprintf("warming up, %s left", max(left, 0).Round(time.Second))
	if p.terminal {
		p.draw(text)
		return
	}
	p.line("%s", text)
}

func (p *progress) Interval(iv bench.Interval, window time.Duration) {
	if p.sysbench {
		p.line("%s", sysbenchInterval(iv))
		return
	}
	p95 := "-"
	if iv.P95MS != nil {
		p95 = fmt.Sprintf("%.2f", *iv.P95MS)
	}
	text := fmt.Sprintf("[%6.1fs] threads %d  qps %.1f  tps %.1f  p95 %s ms  errors/s %.1f", iv.TS, iv.LiveConnections, iv.QPS, iv.TPS, p95, float64(iv.Errors)/iv.LengthS)
	if iv.Backlog != nil {
		text += fmt.Sprintf("  backlog %d", *iv.Backlog)
	}
	if p.terminal {
		if window > 0 {
			text = bar(iv.TS/window.Seconds()) + " " + text
		}
		p.draw(text)
		return
	}
	p.line("%s", text)
}

// bar draws a share of 1 twenty characters wide.
func bar(share float64) string {
	const width = 20
	n := min(max(int(share*width+0.5), 0), width)
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", width-n) + "]"
}

// thousands writes n with a comma at each third digit.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
