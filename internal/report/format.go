package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// notAvailable is printed where a percentage or a number does not exist.
const notAvailable = "n/a"

// formatRate writes a rate as publications do: whole numbers with thousands
// separators from 100 up, two decimals below.
func formatRate(v float64) string {
	if math.Abs(v) < 100 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return group(strconv.FormatFloat(v, 'f', 0, 64))
}

// group puts a comma between thousands of a whole number.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// formatPercent writes a signed percentage with two decimals, "n/a" for none.
// The sign is the ASCII one, so that a spreadsheet reads it.
func formatPercent(p *float64) string {
	if p == nil {
		return notAvailable
	}
	return percentNumber(*p) + " %"
}

// percentNumber is a signed number with two decimals; zero has no sign.
func percentNumber(p float64) string {
	s := fmt.Sprintf("%+.2f", p)
	if s == "-0.00" || s == "+0.00" {
		return "0.00"
	}
	return s
}

// formatMS writes milliseconds with three significant digits or more.
func formatMS(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// formatP writes a p-value.
func formatP(p float64) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return fmt.Sprintf("p=%.3f", p)
}

// plain writes a number for machines: the shortest text that reads back equal.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func plainOf(v *float64) string {
	if v == nil {
		return ""
	}
	return plain(*v)
}

func joinMarks(marks []Mark) string {
	var b strings.Builder
	for _, m := range marks {
		b.WriteString(string(m))
	}
	return b.String()
}
