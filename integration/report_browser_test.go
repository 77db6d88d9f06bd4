package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/latency"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The report's page, made by the task from results on disk and opened from there
// in a real browser.
func TestReportInBrowser(t *testing.T) {
	program := browser(t)
	results := filepath.Join(t.TempDir(), "results")
	writeStudy(t, results)
	run := runTask(t, nil, "report", "--baseline", "scenario=pfsoff", "--at", "threads=32", results).Want(t, bench.ExitOK)
	if !strings.Contains(run.Stdout, "(-25.00 %)") {
		t.Errorf("the summary on stdout has no -25.00 %%:\n%s", run.Stdout)
	}
	page := filepath.Join(results, "browser", "report", "report.html")
	for _, name := range []string{"report.md", "report.csv", "report.json", "report.bench", "plots/p1-throughput.svg", "plots/p1-throughput.png"} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(page), name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	tab := openPage(t, program, page)
	t.Run("tables and plots", tab.showsEverything)
	t.Run("narrow", tab.fitsAPhone)
	t.Run("keyboard", tab.obeysTheKeyboard)
	t.Run("copy", tab.copiesTables)
	t.Run("dark and light", tab.canBeRead)
	t.Run("print", tab.prints)
	t.Run("network", tab.fetchedNothing)
}

// browser returns a Chromium, by any of its names.
func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "no Chromium is installed")
	return ""
}

// browserTab is the page in a browser, with what it asked for and complained of.
type browserTab struct {
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	problems []string
}

func openPage(t *testing.T, program, file string) *browserTab {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	t.Cleanup(cancel)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run sandboxed as root
	}
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	tab := &browserTab{ctx: ctx, url: "file://" + file}
	must(t, chromedp.Listen(ctx, tab.see))
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(tab.url)))
	return tab
}

// see notes events; it must not call the browser.
func (b *browserTab) see(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](t *testing.T, b *browserTab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (b *browserTab) resize(t *testing.T, width int64) {
	t.Helper()
	must(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
}

func (b *browserTab) showsEverything(t *testing.T) {
	if got := eval[string](t, b, `document.querySelector("h1").textContent`); got != "cellbench report" {
		t.Errorf("heading %q", got)
	}
	// A table for each of the two workloads, with rows for three concurrencies and
	// their average.
	for _, id := range []string{"p1-table", "p2-table"} {
		if got := eval[int](t, b, `document.querySelectorAll("#`+id+` tbody tr").length`); got != 4 {
			t.Errorf("%s has %d rows, want 4", id, got)
		}
		if got := eval[string](t, b, `document.querySelector("#`+id+`").textContent`); !strings.Contains(got, "(-25.00 %)") || !strings.Contains(got, "Noise floor") {
			t.Errorf("%s lacks the change or the noise floor: %.300s", id, got)
		}
	}
	for _, id := range []string{"findings", "summary", "throughput", "peaks", "latency", "statements", "cells", "subject"} {
		if !eval[bool](t, b, `document.getElementById("`+id+`")?.offsetHeight > 0`) {
			t.Errorf("no section %s", id)
		}
	}
	// Throughput, time and latency of two workloads, and the changes.
	plots := eval[[]string](t, b, `[...document.querySelectorAll("figure svg")].filter((s) => s.getBoundingClientRect().height > 150).map((s) => s.getAttribute("aria-label") || "")`)
	if len(plots) != 7 || slices.Contains(plots, "") {
		t.Errorf("plots %q, want 7, each with a description", plots)
	}
	if got := eval[string](t, b, `document.querySelector("#p1-table figure svg").textContent`); !strings.Contains(got, "QPS by threads") || !strings.Contains(got, "pfson") {
		t.Errorf("the plot's texts are %q", got)
	}
	duplicates := eval[[]string](t, b, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`)
	if len(duplicates) > 0 {
		t.Errorf("ids given twice: %q", duplicates)
	}
	dangling := eval[[]string](t, b, `[...document.querySelectorAll('a[href^="#"]')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id))`)
	if len(dangling) > 0 {
		t.Errorf("links to nowhere: %q", dangling)
	}
}

// fitsAPhone: nothing sticks out of a narrow page; wide tables scroll in their
// own place.
func (b *browserTab) fitsAPhone(t *testing.T) {
	defer b.resize(t, 1280)
	for _, width := range []int64{320, 360, 768} {
		b.resize(t, width)
		if got := eval[int64](t, b, `document.documentElement.scrollWidth`); got > width {
			out := eval[[]string](t, b, `[...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 5)`)
			t.Errorf("at %d px the page is %d px wide: %q", width, got, out)
		}
	}
	b.resize(t, 360)
	if !eval[bool](t, b, `(() => { const s = document.querySelector("#p1-table .scroll:has(table)"); return s.scrollWidth > s.clientWidth; })()`) {
		t.Error("at 360 px the table does not scroll in its own place")
	}
}

// obeysTheKeyboard: the first Tab offers to skip to the findings; from there every
// button, link and scrolling table can be reached and shows that it is.
func (b *browserTab) obeysTheKeyboard(t *testing.T) {
	press := func(key string) { t.Helper(); must(t, chromedp.Do(b.ctx, chromedp.KeyEvent(key))) }
	must(t, chromedp.Do(b.ctx, chromedp.Navigate(b.url)))
	press(kb.Tab)
	if got := eval[string](t, b, `document.activeElement.className`); got != "skip" {
		t.Fatalf("the first Tab leads to %q, want the skip link", got)
	}
	if !eval[bool](t, b, `document.activeElement.getBoundingClientRect().left >= 0`) {
		t.Error("the skip link has the focus and can't be seen")
	}
	press(kb.Enter)
	if got := eval[string](t, b, `document.activeElement.id`); got != "main" {
		t.Errorf("the skip link leads to %q, want main", got)
	}
	seen := map[string]bool{}
	for range 12 {
		press(kb.Tab)
		seen[eval[string](t, b, `document.activeElement.className || document.activeElement.tagName`)] = true
		if !eval[bool](t, b, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
			t.Errorf("no outline on the focused %s", eval[string](t, b, `document.activeElement.outerHTML.slice(0, 80)`))
		}
	}
	for _, want := range []string{"copy", "scroll"} {
		if !seen[want] {
			t.Errorf("Tab does not reach %s, only %v", want, seen)
		}
	}
}

// copiesTables: what the button puts into the clipboard is a table for a
// spreadsheet, percentages in columns of their own.
func (b *browserTab) copiesTables(t *testing.T) {
	eval[bool](t, b, `(() => { Object.defineProperty(navigator, "clipboard", {value: {writeText: async (s) => { window.copied = s; }}}); document.querySelector("#p1-table .copy").focus(); return true; })()`)
	must(t, chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Enter)))
	text, err := chromedp.Run(b.ctx, chromedp.Poll[string](`window.copied`))
	must(t, err)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if got, want := lines[0], "threads\tpfsoff\tpfson\tpfson %"; got != want {
		t.Errorf("copied heading %q, want %q", got, want)
	}
	if got, want := lines[1], "1\t1000\t750\t-25.00"; got != want {
		t.Errorf("copied row %q, want %q", got, want)
	}
	if got := eval[string](t, b, `document.getElementById("said").textContent`); !strings.Contains(got, "copied") {
		t.Errorf("nobody is told of the copy: %q", got)
	}
}

// canBeRead: in both schemes text has the contrast WCAG AA asks for.
func (b *browserTab) canBeRead(t *testing.T) {
	const contrast = `(() => {
  const rgb = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = rgb(c).slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c; } return "rgb(255,255,255)"; };
  const poor = [];
  for (const e of document.querySelectorAll("h1, h2, h3, p, li, a, dt, dd, td, th, td .p, small, sup, button, label")) {
    if (!e.textContent.trim() || e.closest(".skip")) continue;
    const [x, y] = [light(getComputedStyle(e).color), light(behind(e))].sort((p, q) => q - p);
    if ((x + 0.05) / (y + 0.05) < 4.5) poor.push(e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 30));
  }
  return [...new Set(poor)].slice(0, 10);
})()`
	ink := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		must(t, err)
		if poor := eval[[]string](t, b, contrast); len(poor) > 0 {
			t.Errorf("%s: too little contrast: %q", scheme, poor)
		}
		ink[scheme] = eval[string](t, b, `getComputedStyle(document.querySelector("#p1-table svg text")).fill`)
	}
	if ink["light"] == ink["dark"] {
		t.Errorf("the plots do not follow the scheme: text is %s in both", ink["light"])
	}
}

func (b *browserTab) prints(t *testing.T) {
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	must(t, err)
	if len(pdf) < 10_000 || string(pdf[:5]) != "%PDF-" {
		t.Errorf("printing gives %d bytes that begin with %.5q", len(pdf), pdf)
	}
}

// fetchedNothing comes last: it looks back on everything the page asked for.
func (b *browserTab) fetchedNothing(t *testing.T) {
	if got := eval[int](t, b, `performance.getEntriesByType("resource").length`); got != 0 {
		t.Errorf("the page loaded %d resources", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		t.Error("not even the page itself was seen; the test sees nothing")
	}
	for _, url := range b.requests {
		if url != b.url && url != b.url+"#main" {
			t.Errorf("the page asked for %s", url)
		}
	}
	if len(b.problems) > 0 {
		t.Errorf("the page's script fails: %q", b.problems)
	}
}

// writeStudy writes the results of two scenarios, two workloads, three
// concurrencies and four repeats; the second scenario is a quarter slower.
func writeStudy(t *testing.T, dir string) {
	t.Helper()
	for _, workload := range []string{"oltp_read_only", "oltp_write_only"} {
		for _, scenario := range []string{"pfsoff", "pfson"} {
			for _, threads := range []int{1, 8, 32} {
				for repeat := 1; repeat <= 4; repeat++ {
					writeResult(t, dir, workload, scenario, threads, repeat)
				}
			}
		}
	}
}

func writeResult(t *testing.T, dir, workload, scenario string, threads, repeat int) {
	t.Helper()
	qps := float64(1000*threads) * []float64{0.99, 1, 1, 1.01}[repeat-1]
	slow := 1.0
	if scenario == "pfson" {
		qps, slow = qps*0.75, 4.0/3
	}
	h := latency.New()
	for i := range 1000 {
		h.Record(int64(slow * float64(1_000_000+i*i)))
	}
	l, err := h.Summary([]float64{50, 95, 99})
	must(t, err)
	start := time.Date(2026, 3, 1, 12, threads, repeat, 0, time.UTC)
	attempt := fmt.Sprintf("%s-%08d", start.Format("20060102T150405.000Z"), repeat)
	fingerprint, id := "f", bench.CellID("db", workload, scenario, threads, nil)
	r := bench.Result{
		Schema: bench.ResultSchema, Status: bench.StatusOK, RunID: "browser", Attempt: attempt, Fingerprint: &fingerprint, Version: "test",
		Cell:       bench.Cell{ID: id, Target: "db", Workload: workload, Scenario: scenario, Threads: threads, Repeat: repeat},
		Config:     map[string]string{"BENCH_TIME": "60"},
		Window:     &bench.Window{Start: start, End: start.Add(time.Minute), ElapsedS: 60, WarmupS: 5},
		Throughput: &bench.Throughput{QPS: qps, TPS: qps / 10},
		Latency:    &bench.LatencyReport{Event: l, Statements: map[string]*bench.Latency{"point_select": l}},
		Server:     &bench.Server{Flavour: "MySQL", Version: "8.4.0", Variables: map[string]string{"max_connections": "151"}},
	}
	for i := range 60 {
		r.Intervals = append(r.Intervals, bench.Interval{TS: float64(i + 1), LengthS: 1, Queries: int64(qps), Events: int64(qps / 10)})
	}
	body, err := json.Marshal(r)
	must(t, err)
	file := filepath.Join(dir, filepath.FromSlash(bench.ResultKey("browser", id, repeat, attempt)))
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, body, 0o644))
}
