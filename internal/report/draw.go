package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/go-analyze/charts"
)

// The drawing is made with the primitives of go-analyze/charts, which gives SVG
// and PNG from one description. Its ready-made line chart has neither interval
// bands, nor dashes, nor a logarithmic axis, and those are what lets a plot be
// read in print and without colours.

// plot is one chart as data.
type plot struct {
	Name   string // file name without extension
	Title  string
	Sub    string
	Alt    string // what the chart says, for those who cannot see it
	xTitle string
	yTitle string
	xs     []tick // where the x axis is labelled
	yLog   bool
	series []series
	bars   []barGroup // when set, the chart is one of horizontal bars
	svg    []byte     // once it is drawn
}

// tick is a labelled position on an axis.
type tick struct {
	at    float64
	label string
}

// series is one line. style counts from 0, the baseline's.
type series struct {
	name   string
	style  int
	x, y   []float64
	lo, hi []float64 // the band around y; nil or NaN where there is none
	plain  bool      // no markers: too many points
}

// barGroup is a heading with its bars.
type barGroup struct {
	name string
	bars []bar
}

// bar is one horizontal bar; lo and hi bound its whisker, NaN for none.
type bar struct {
	name   string
	style  int
	value  float64
	lo, hi float64
	label  string
}

const (
	plotWidth  = 920
	plotHeight = 440
	pngScale   = 2 // so that text stays sharp in print and on dense screens
)

// style is how a line is told from the others, in colour and without.
type style struct {
	color  charts.Color
	dash   []float64
	marker int // 0 dot, 1 square, 2 diamond, 3 triangle, 4 ring
}

// styles are Okabe and Ito's colours for the colour-blind, darkened where a line
// on white needs it; the first is the baseline's.
func styles() []style {
	return []style{
		{charts.ColorRGB(55, 65, 81), nil, 0},
		{charts.ColorRGB(0, 114, 178), nil, 1},
		{charts.ColorRGB(213, 94, 0), []float64{9, 4}, 2},
		{charts.ColorRGB(0, 138, 101), []float64{2, 4}, 3},
		{charts.ColorRGB(176, 82, 140), []float64{9, 4, 2, 4}, 4},
		{charts.ColorRGB(184, 122, 0), []float64{5, 3}, 0},
		{charts.ColorRGB(60, 150, 205), []float64{14, 4}, 1},
		{charts.ColorRGB(127, 79, 36), []float64{3, 3, 9, 3}, 2},
	}
}

func styleOf(i int) style {
	all := styles()
	s := all[i%len(all)]
	if i >= len(all) { // more lines than colours: other markers and dashes
		s.marker = (s.marker + i/len(all)) % 5
		s.dash = []float64{float64(3 + 2*(i/len(all))), 3}
	}
	return s
}

// The colours of everything that is not data: text, quiet text and axes, grid.
func inkColor() charts.Color  { return charts.ColorRGB(31, 41, 51) }
func softColor() charts.Color { return charts.ColorRGB(91, 101, 113) }
func gridColor() charts.Color { return charts.ColorRGB(226, 230, 235) }

// canvas draws in the units of the SVG at any scale.
type canvas struct {
	p       *charts.Painter
	scale   float64
	anchors []anchor
}

// anchor is where a text was meant to be. The library places texts by the width
// they have in its own font; a browser that shows another font needs the anchor.
type anchor struct {
	x     int
	align float64
}

func newCanvas(format string, width, height int) *canvas {
	c := &canvas{scale: 1}
	if format == charts.ChartOutputPNG {
		c.scale = pngScale
	}
	c.p = charts.NewPainter(charts.PainterOptions{OutputFormat: format, Width: c.px(float64(width)), Height: c.px(float64(height))})
	c.rect(0, 0, float64(width), float64(height), charts.ColorWhite)
	return c
}

func (c *canvas) px(v float64) int { return int(math.Round(v * c.scale)) }

func (c *canvas) point(x, y float64) charts.Point { return charts.Point{X: c.px(x), Y: c.px(y)} }

func (c *canvas) rect(x1, y1, x2, y2 float64, color charts.Color) {
	c.p.FilledRect(c.px(x1), c.px(y1), c.px(x2), c.px(y2), color, color, 0)
}

func (c *canvas) line(points []charts.Point, s style, width float64) {
	if len(points) < 2 {
		return
	}
	if s.dash == nil {
		c.p.LineStroke(points, s.color, width*c.scale)
		return
	}
	dash := make([]float64, len(s.dash))
	for i, d := range s.dash {
		dash[i] = d * c.scale
	}
	c.p.DashedLineStroke(points, s.color, width*c.scale, dash)
}

func (c *canvas) font(size float64, color charts.Color) charts.FontStyle {
	return charts.FontStyle{FontSize: size * c.scale, FontColor: color, Font: charts.GetDefaultFont()}
}

// width is that of a text in SVG units.
func (c *canvas) width(s string, size float64) float64 {
	return float64(c.p.MeasureText(s, 0, c.font(size, inkColor())).Width()) / c.scale
}

// text writes s with its baseline at y; align is 0 for left, 0.5 centre, 1 right.
func (c *canvas) text(s string, x, y, size, align float64, color charts.Color) {
	if s = printable(s); s == "" {
		return
	}
	c.anchors = append(c.anchors, anchor{c.px(x), align})
	c.p.Text(s, c.px(x-align*c.width(s, size)), c.px(y), 0, c.font(size, color))
}

// anchored gives every text of an SVG its anchor. Texts are written in the order
// they were drawn in; a drawing with another number of them is left as it is.
func (c *canvas) anchored(svg []byte) []byte {
	place := regexp.MustCompile(`<text x="-?[0-9]+"`)
	if len(place.FindAllIndex(svg, -1)) != len(c.anchors) {
		return svg
	}
	i := -1
	return place.ReplaceAllFunc(svg, func(m []byte) []byte {
		i++
		switch a := c.anchors[i]; a.align {
		case 0.5:
			return fmt.Appendf(nil, `<text text-anchor="middle" x="%d"`, a.x)
		case 1:
			return fmt.Appendf(nil, `<text text-anchor="end" x="%d"`, a.x)
		}
		return m
	})
}

func (c *canvas) marker(kind int, x, y float64, color charts.Color) {
	p := c.point(x, y)
	size := c.px(8)
	switch kind {
	case 1:
		c.rect(x-3.5, y-3.5, x+3.5, y+3.5, color)
	case 2:
		c.p.FilledDiamond(p.X, p.Y, c.px(10), c.px(10), color, color, 0)
	case 3:
		h := float64(size) / 2 / c.scale
		c.p.FillArea([]charts.Point{c.point(x, y-h-1), c.point(x+h+1, y+h), c.point(x-h-1, y+h)}, color)
	case 4:
		c.p.Circle(3.5*c.scale, p.X, p.Y, charts.ColorWhite, color, 1.6*c.scale)
	default:
		c.p.Circle(3.5*c.scale, p.X, p.Y, color, color, c.scale)
	}
}

// render draws p as format, charts.ChartOutputSVG or charts.ChartOutputPNG.
func (p *plot) render(format string) ([]byte, error) {
	height := plotHeight
	if p.bars != nil {
		height = p.barHeight()
	}
	c := newCanvas(format, plotWidth, height)
	c.text(p.Title, 16, 28, 12, 0, inkColor())
	c.text(p.Sub, 16, 48, 9, 0, softColor())
	if p.bars != nil {
		p.drawBars(c, float64(height))
	} else {
		p.drawLines(c)
	}
	b, err := c.p.Bytes()
	if err != nil {
		return nil, fmt.Errorf("draw %s: %w", p.Name, err)
	}
	if format == charts.ChartOutputSVG {
		b = c.anchored(b)
	}
	return b, nil
}

// frame maps data to the drawing.
type frame struct {
	left, top, right, bottom float64
	xMin, xMax, yMin, yMax   float64
	yLog                     bool
}

func (f frame) x(v float64) float64 {
	if f.xMax == f.xMin {
		return (f.left + f.right) / 2
	}
	return f.left + (v-f.xMin)/(f.xMax-f.xMin)*(f.right-f.left)
}

func (f frame) y(v float64) float64 {
	lo, hi := f.yMin, f.yMax
	if f.yLog {
		v, lo, hi = math.Log(max(v, lo)), math.Log(lo), math.Log(hi)
	}
	return f.bottom - (v-lo)/(hi-lo)*(f.bottom-f.top)
}

// drawLines draws legend, axes, bands and lines.
func (p *plot) drawLines(c *canvas) {
	top := p.drawLegend(c, 70)
	f := frame{left: 70, top: top + 34, right: plotWidth - 28, bottom: plotHeight - 48, yLog: p.yLog}
	ticks := p.yTicks(&f)
	for _, t := range ticks {
		f.left = max(f.left, 34+c.width(t.label, 9))
	}
	f.xMin, f.xMax = p.xs[0].at, p.xs[len(p.xs)-1].at
	inner := f // points keep off the frame
	inner.left, inner.right = f.left+26, f.right-26
	for _, t := range ticks {
		y := f.y(t.at)
		c.p.LineStroke([]charts.Point{c.point(f.left, y), c.point(f.right, y)}, gridColor(), c.scale)
		c.text(t.label, f.left-8, y+4, 9, 1, softColor())
	}
	c.p.LineStroke([]charts.Point{c.point(f.left, f.bottom), c.point(f.right, f.bottom)}, softColor(), c.scale)
	end := -math.MaxFloat64
	for _, t := range p.xs {
		x, w := inner.x(t.at), c.width(t.label, 9)
		c.p.LineStroke([]charts.Point{c.point(x, f.bottom), c.point(x, f.bottom+5)}, softColor(), c.scale)
		if x-w/2 > end { // no label over another
			c.text(t.label, x, f.bottom+20, 9, 0.5, softColor())
			end = x + w/2 + 6
		}
	}
	c.text(p.yTitle, 16, f.top-15, 9, 0, softColor())
	c.text(p.xTitle, (f.left+f.right)/2, plotHeight-10, 9, 0.5, softColor())
	for _, s := range p.series {
		s.drawBand(c, inner)
	}
	for i := len(p.series) - 1; i >= 0; i-- { // the baseline on top
		p.series[i].draw(c, inner)
	}
}

// drawLegend writes the names of the lines from y on and returns where it ends.
func (p *plot) drawLegend(c *canvas, y float64) float64 {
	x := 16.0
	for _, s := range p.series {
		w := 44 + c.width(s.name, 9) + 18
		if x > 16 && x+w > plotWidth-16 {
			x, y = 16, y+20
		}
		st := styleOf(s.style)
		c.line([]charts.Point{c.point(x, y-4), c.point(x+34, y-4)}, st, 2)
		if !s.plain {
			c.marker(st.marker, x+17, y-4, st.color)
		}
		c.text(s.name, x+42, y, 9, 0, inkColor())
		x += w
	}
	return y
}

func (s series) draw(c *canvas, f frame) {
	st := styleOf(s.style)
	var run []charts.Point
	for i, v := range s.y {
		if math.IsNaN(v) { // a gap is a gap
			c.line(run, st, 2)
			run = nil
			continue
		}
		run = append(run, c.point(f.x(s.x[i]), f.y(v)))
	}
	c.line(run, st, 2)
	if s.plain {
		return
	}
	for i, v := range s.y {
		if !math.IsNaN(v) {
			c.marker(st.marker, f.x(s.x[i]), f.y(v), st.color)
		}
	}
}

// drawBand fills the interval around a line, and whiskers where a point stands
// alone.
func (s series) drawBand(c *canvas, f frame) {
	st := styleOf(s.style)
	var upper, lower []charts.Point
	flush := func() {
		if len(upper) > 1 {
			for i := len(lower) - 1; i >= 0; i-- {
				upper = append(upper, lower[i])
			}
			c.p.FillArea(upper, st.color.WithAlpha(46))
		}
		upper, lower = nil, nil
	}
	for i := range s.y {
		if i >= len(s.lo) || math.IsNaN(s.lo[i]) || math.IsNaN(s.hi[i]) {
			flush()
			continue
		}
		x, lo, hi := f.x(s.x[i]), f.y(s.lo[i]), f.y(s.hi[i])
		upper, lower = append(upper, c.point(x, hi)), append(lower, c.point(x, lo))
		for _, w := range [][2]charts.Point{{c.point(x, lo), c.point(x, hi)}, {c.point(x-4, lo), c.point(x+4, lo)}, {c.point(x-4, hi), c.point(x+4, hi)}} {
			c.p.LineStroke(w[:], st.color, 1.2*c.scale)
		}
	}
	flush()
}

// yTicks chooses the y axis and its labels.
func (p *plot) yTicks(f *frame) []tick {
	lo, hi := math.Inf(1), math.Inf(-1)
	see := func(v float64) {
		if !math.IsNaN(v) && (!p.yLog || v > 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	for _, s := range p.series {
		for _, list := range [][]float64{s.y, s.lo, s.hi} {
			for _, v := range list {
				see(v)
			}
		}
	}
	if p.yLog && hi > 0 {
		return logTicks(f, lo, hi)
	}
	return linearTicks(f, max(hi, 0))
}

// linearTicks labels 0 to hi in four to seven round steps.
func linearTicks(f *frame, hi float64) []tick {
	if hi <= 0 {
		hi = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(hi)))
	for _, m := range []float64{0.1, 0.2, 0.25, 0.5, 1} {
		if hi/(step*m) <= 6 {
			step *= m
			break
		}
	}
	n := math.Ceil(hi/step - 1e-9)
	f.yMin, f.yMax = 0, n*step
	var ticks []tick
	for i := 0.0; i <= n; i++ {
		ticks = append(ticks, tick{i * step, axisNumber(i*step, step)})
	}
	return ticks
}

// logTicks labels lo to hi at 1, 2 and 5 of each power of ten, or at the powers
// alone when that would be too many.
func logTicks(f *frame, lo, hi float64) []tick {
	from, to := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi)+1e-9)
	steps := []float64{1, 2, 5}
	if to-from > 3 {
		steps = steps[:1]
	}
	var all []float64
	for e := from; e <= to; e++ {
		for _, m := range steps {
			all = append(all, m*math.Pow(10, e))
		}
	}
	f.yMin, f.yMax = all[0], all[len(all)-1]
	for _, v := range all { // the tightest labelled bounds
		if v <= lo*(1+1e-9) {
			f.yMin = v
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] >= hi*(1-1e-9) && all[i] > f.yMin {
			f.yMax = all[i]
		}
	}
	var ticks []tick
	for _, v := range all {
		if v >= f.yMin*(1-1e-9) && v <= f.yMax*(1+1e-9) {
			ticks = append(ticks, tick{v, axisNumber(v, v)})
		}
	}
	return ticks
}

// axisNumber writes a tick with as many decimals as its step needs.
func axisNumber(v, step float64) string {
	decimals := 0
	for s := step; decimals < 6 && math.Abs(s-math.Round(s)) > 1e-9*math.Max(1, math.Abs(s)); s *= 10 {
		decimals++
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals == 0 {
		return group(s)
	}
	return s
}

const (
	barRow  = 22.0
	barHead = 30.0
)

func (p *plot) barHeight() int {
	h := 62.0
	for _, g := range p.bars {
		h += barHead + barRow*float64(len(g.bars))
	}
	return int(h) + 24
}

// drawBars draws groups of horizontal bars from a common zero line.
func (p *plot) drawBars(c *canvas, height float64) {
	lo, hi, names, labels := 0.0, 0.0, 0.0, 0.0
	for _, g := range p.bars {
		for _, b := range g.bars {
			for _, v := range []float64{b.value, b.lo, b.hi} {
				if !math.IsNaN(v) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
			names, labels = max(names, c.width(b.name, 9)), max(labels, c.width(b.label, 9))
		}
	}
	if lo == hi {
		hi = 1
	}
	names = min(names, plotWidth/2)
	f := frame{left: 30 + names, right: plotWidth - 24, xMin: lo, xMax: hi}
	if lo < 0 {
		f.left += labels + 28
	}
	if hi > 0 {
		f.right -= labels + 16
	}
	y := 62.0
	for _, g := range p.bars {
		c.text(g.name, 16, y+barHead-10, 9.5, 0, inkColor())
		y += barHead
		for _, b := range g.bars {
			b.draw(c, f, y)
			y += barRow
		}
	}
	c.p.LineStroke([]charts.Point{c.point(f.x(0), 66), c.point(f.x(0), height-18)}, softColor(), c.scale)
}

func (b bar) draw(c *canvas, f frame, y float64) {
	st, middle := styleOf(b.style), y+barRow/2
	c.text(b.name, 16, middle+4, 9, 0, softColor())
	from, to := f.x(min(b.value, 0)), f.x(max(b.value, 0))
	c.rect(from, middle-7, to, middle+7, st.color)
	if !math.IsNaN(b.lo) && !math.IsNaN(b.hi) {
		lo, hi := f.x(b.lo), f.x(b.hi)
		for _, w := range [][2]charts.Point{{c.point(lo, middle), c.point(hi, middle)}, {c.point(lo, middle-4), c.point(lo, middle+4)}, {c.point(hi, middle-4), c.point(hi, middle+4)}} {
			c.p.LineStroke(w[:], inkColor(), 1.4*c.scale)
		}
		from, to = min(from, lo), max(to, hi)
	}
	if b.value < 0 {
		c.text(b.label, from-8, middle+4, 9, 1, inkColor())
	} else {
		c.text(b.label, to+8, middle+4, 9, 0, inkColor())
	}
}
