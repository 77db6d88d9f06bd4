package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/go-analyze/charts"
)

//go:embed page/page.html.tmpl
var pageTemplate string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// page is what the template sees.
type page struct {
	*Report
	Style    template.CSS
	Script   template.JS
	Sections []pageSection
	Changes  []Finding
	Others   []findingList
	Facts    []pageFacts
	Counts   []count
	Measured string
}

type pageSection struct {
	ID, Title string
	Figures   []figure // of the section as a whole
	Blocks    []block
}

type block struct {
	*Table
	Figures []figure
	After   []figure
	Cells   bool // a list of cells, which has a filter
}

type figure struct {
	Name, Alt, Title string
	SVG              template.HTML
}

type findingList struct {
	Title string
	Items []string
}

type pageFacts struct {
	Title  string
	Facts  []Fact
	Folded bool
}

// count is one number about the cells.
type count struct {
	Number int
	Word   string
	Class  string // "bad" for numbers that are not there, "warn" for doubtful ones
}

// html writes the page: one file that fetches nothing.
func (r *Report) html(plots map[string][]*plot) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"soft": softBreaks, "join": strings.Join}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("write report.html: %w", err)
	}
	// Style and script are files of this package; everything from documents goes
	// through the template's escaping.
	p := page{Report: r, Style: template.CSS(pageStyle), Script: template.JS(pageScript)} //nolint:gosec // embedded files
	for _, s := range r.sections() {
		ps := pageSection{ID: s.ID, Title: s.Title}
		ps.Figures = figures(plots[s.ID])
		for _, tab := range s.Tables {
			ps.Blocks = append(ps.Blocks, block{
				Table: tab, Cells: s.ID == "cells", Figures: figures(plots[tab.ID]), After: figures(plots[tab.ID+afterTable]),
			})
		}
		p.Sections = append(p.Sections, ps)
	}
	p.findings()
	p.facts()
	p.Counts, p.Measured = r.count.list(), span(r.Subject.Start, r.Subject.End)
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("write report.html: %w", err)
	}
	return b.Bytes(), nil
}

// findings sorts the sentences by kind.
func (p *page) findings() {
	titles := []struct{ kind, title string }{
		{"peak", "Peaks"}, {"average", "Over all concurrencies"}, {"latency", "Latency"}, {"noise", "Noise"}, {"data", "Data"},
	}
	byKind := make(map[string][]string)
	for _, f := range p.Findings {
		if f.Kind == "change" {
			if _, said, ok := strings.Cut(f.Text, ": "); ok { // the card's heading says the rest
				f.Text = said
			}
			p.Changes = append(p.Changes, f)
			continue
		}
		byKind[f.Kind] = append(byKind[f.Kind], f.Text)
	}
	for _, t := range titles {
		if len(byKind[t.kind]) > 0 {
			p.Others = append(p.Others, findingList{t.title, byKind[t.kind]})
		}
	}
}

func (p *page) facts() {
	s := p.Subject
	for _, f := range []pageFacts{
		{Title: "What was measured on what", Facts: s.Facts},
		{Title: "Settings", Facts: s.Settings, Folded: true},
		{Title: "Server variables", Facts: s.Variables, Folded: true},
	} {
		if len(f.Facts) > 0 {
			p.Facts = append(p.Facts, f)
		}
	}
}

// list names the counts that are not zero, the valid ones always.
func (t tally) list() []count {
	if t.planned == 0 {
		return nil
	}
	out := []count{{t.ok, fmt.Sprintf("of %s valid", plural(t.planned, "cell")), ""}}
	for _, c := range []count{
		{t.missing, "missing", "bad"},
		{t.failed, "failed", "bad"},
		{t.invalid, "invalid", "bad"},
		{t.interrupted, "interrupted", "bad"},
		{t.unsteady, "unsteady", "warn"},
		{t.clientLimited, "client-limited", "warn"},
		{t.foreign, "of another fingerprint", "warn"},
		{t.superseded, "superseded", ""},
	} {
		if c.Number > 0 {
			out = append(out, c)
		}
	}
	return out
}

// figures makes drawn plots part of the page.
func figures(plots []*plot) []figure {
	var out []figure
	for _, p := range plots {
		out = append(out, figure{Name: p.Name, Title: p.Title, Alt: p.Alt, SVG: inline(p.svg, p.Alt)})
	}
	return out
}

// inline makes a drawing part of the page: its colours become the page's, so
// that it follows light and dark, and it says what it shows. The drawing comes
// from the chart library, which escapes the names in it.
func inline(svg []byte, alt string) template.HTML {
	s := string(svg)
	names := map[string]string{
		charts.ColorWhite.String(): "var(--card)", inkColor().String(): "var(--ink)",
		softColor().String(): "var(--soft)", gridColor().String(): "var(--grid)",
	}
	for i, st := range styles() {
		names[st.color.String()] = fmt.Sprintf("var(--s%d)", i)
	}
	s = regexp.MustCompile(`(fill|stroke):(rgba?\([\d.,]+\)|white)`).ReplaceAllStringFunc(s, func(m string) string {
		property, color, _ := strings.Cut(m, ":")
		if name, ok := names[color]; ok {
			return property + ":" + name
		}
		parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(color, "rgba("), ")"), ",")
		if len(parts) == 4 {
			if name, ok := names["rgb("+strings.Join(parts[:3], ",")+")"]; ok {
				return property + ":" + name + ";" + property + "-opacity:" + parts[3]
			}
		}
		return m
	})
	s = strings.ReplaceAll(s, "font-family:'Roboto Medium',sans-serif", "")
	// The card has an edge of its own.
	s = regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`).ReplaceAllStringFunc(s, func(m string) string {
		var w, h int
		if _, err := fmt.Sscanf(m, `viewBox="0 0 %d %d"`, &w, &h); err != nil {
			return m
		}
		return fmt.Sprintf(`viewBox="15 8 %d %d"`, w-30, h-12)
	})
	//nolint:gosec // the names in it are escaped by the chart library, which TestHostileNames holds
	return template.HTML(strings.Replace(s, "<svg ", `<svg role="img" aria-label="`+template.HTMLEscapeString(alt)+`" `, 1))
}

// softBreaks lets a long name break after its underscores.
func softBreaks(s string) template.HTML {
	//nolint:gosec // escaped here
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(s), "_", "_<wbr>"))
}

// span writes the time of the measurements, both ends in RFC 3339 UTC.
func span(start, end string) string {
	a, err := time.Parse(time.RFC3339, start)
	b, err2 := time.Parse(time.RFC3339, end)
	if err != nil || err2 != nil {
		return start
	}
	if a.Format(time.DateOnly) == b.Format(time.DateOnly) {
		return a.Format("2006-01-02 15:04") + " to " + b.Format("15:04 UTC")
	}
	return a.Format("2006-01-02 15:04") + " to " + b.Format("2006-01-02 15:04 UTC")
}
