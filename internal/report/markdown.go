package report

import (
	"fmt"
	"strings"
)

// markdown writes the report as GitHub-flavoured Markdown.
func (r *Report) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", md(r.Title))
	if r.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", md(r.Description))
	}
	if len(r.Findings) > 0 {
		b.WriteString("## Findings\n\n")
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "- %s\n", md(f.Text))
		}
		b.WriteString("\n")
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		for _, t := range s.Tables {
			b.WriteString(mdTable(t))
		}
	}
	r.markdownSubject(&b)
	if len(r.Broken) > 0 {
		b.WriteString("## Broken gates\n\n")
		for _, g := range r.Broken {
			fmt.Fprintf(&b, "- %s\n", md(g))
		}
		b.WriteString("\n")
	}
	if len(r.Unread) > 0 {
		b.WriteString("## Documents that could not be used\n\n")
		for _, u := range r.Unread {
			fmt.Fprintf(&b, "- %s: %s\n", md(u.Key), md(u.Why))
		}
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

// section is a heading with its tables; every output has the same ones.
type section struct {
	ID, Title string
	Tables    []*Table
}

func (r *Report) sections() []section {
	main := section{ID: "throughput", Title: "Throughput by concurrency"}
	lat := section{ID: "latency", Title: "Latency"}
	statements := section{ID: "statements", Title: "Statements"}
	cpu := section{ID: "cpu", Title: "Server CPU"}
	for _, p := range r.Panels {
		main.Tables = append(main.Tables, r.panelTable(p))
		cpu.add(r.cpuTable(p))
		for _, at := range r.At {
			lat.add(r.latencyTable(p, at))
			statements.add(r.statementTable(p, at))
		}
		if len(p.Threads) > 1 {
			lat.add(r.latencyTable(p, 0))
		}
	}
	list := []section{
		{ID: "summary", Title: "Summary", Tables: r.summaryTables()},
		main,
		{ID: "peaks", Title: "Peaks", Tables: r.peakTables()},
		lat, statements, cpu,
	}
	ref := section{ID: "references", Title: "Published tables"}
	for i, t := range r.References {
		ref.Tables = append(ref.Tables, t.tables(i)...)
	}
	list = append(list, ref)
	if len(r.Cells) > 0 {
		list = append(list, section{ID: "cells", Title: "Cells", Tables: r.cellTables()})
	}
	var out []section
	for _, s := range list {
		if len(s.Tables) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (s *section) add(t *Table) {
	if t != nil {
		s.Tables = append(s.Tables, t)
	}
}

func mdTable(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", md(t.Title))
	if t.Convention != "" {
		fmt.Fprintf(&b, "%s\n\n", md(t.Convention))
	}
	row := func(cells []Cell) {
		b.WriteString("|")
		for _, c := range cells {
			fmt.Fprintf(&b, " %s |", md(c.String()))
		}
		b.WriteString("\n")
	}
	row(t.Head)
	b.WriteString("|")
	for _, h := range t.Head {
		if h.Class == "num" || h.Text == "threads" {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	b.WriteString("\n")
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "- %s\n", md(n))
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (r *Report) markdownSubject(b *strings.Builder) {
	list := func(title string, facts []Fact) {
		if len(facts) == 0 {
			return
		}
		fmt.Fprintf(b, "## %s\n\n| what | value |\n|---|---|\n", title)
		for _, f := range facts {
			fmt.Fprintf(b, "| %s | %s |\n", md(f.Name), md(strings.Join(f.Values, " · ")))
		}
		b.WriteString("\n")
	}
	list("What was measured on what", r.Subject.Facts)
	list("Settings", r.Subject.Settings)
	list("Server variables", r.Subject.Variables)
}

// md escapes text for one line of Markdown, inside a table too. Underscores
// inside words need nothing, which keeps names readable.
func md(s string) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`, "#", `\#`,
	).Replace(s)
}
