package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cellbench/internal/workload/random"
)

// Sbtest are the options of sysbench's tables sbtest1..sbtestN.
type Sbtest struct {
	Tables          int
	Rows            int64  // --table-size
	AutoInc         bool   // --auto-inc
	Secondary       bool   // --secondary: KEY xid instead of a primary key
	CreateSecondary bool   // --create-secondary: index k_N on k
	Engine          string // --mysql-storage-engine
	TableOptions    string // --create-table-options of sysbench 1.1
	// K draws column k over 1..Rows; its Seed is not looked at.
	K random.Options
	// Empty makes the tables without rows, while k and the type of id still follow
	// from Rows.
	Empty bool
}

// Spec returns the dataset. Columns and rows are sysbench's; ids and k become
// BIGINT when Rows needs it, where sysbench's 32-bit columns would overflow.
func (o Sbtest) Spec() Spec {
	s := Spec{Tables: make([]Table, 0, o.Tables)}
	row, auto := o.row(true), o.row(false)
	if !o.AutoInc {
		auto = nil
	}
	for n := 1; n <= o.Tables; n++ {
		t := Table{
			Name: "sbtest" + strconv.Itoa(n), Create: o.create(n), Rows: o.Rows,
			Insert: []string{"id", "k", "c", "pad"}, Row: row, RowAuto: auto, ASCII: true, Content: "sbtest rows 1, k " + o.K.String(),
			Key: "id", Shape: o.shape(n),
		}
		if o.Empty {
			t.Rows = 0
		}
		if o.CreateSecondary {
			t.After = []Step{{Index: fmt.Sprintf("k_%d", n), SQL: fmt.Sprintf("CREATE INDEX k_%d ON sbtest%d(k)", n, n)}}
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func (o Sbtest) intType() string {
	if o.Rows > math.MaxInt32 {
		return "BIGINT"
	}
	return "INTEGER"
}

func (o Sbtest) create(n int) string {
	id := o.intType() + " NOT NULL"
	if o.AutoInc {
		id += " AUTO_INCREMENT"
	}
	key := "PRIMARY KEY"
	if o.Secondary {
		key = "KEY xid"
	}
	engine := ""
	if o.Engine != "" {
		engine = " /*! ENGINE = " + o.Engine + " */"
	}
	sql := fmt.Sprintf("CREATE TABLE sbtest%d (id %s, k %s DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, %s (id))%s",
		n, id, o.intType(), key, engine)
	if o.TableOptions != "" {
		sql += " " + o.TableOptions
	}
	return sql
}

func (o Sbtest) shape(n int) *Shape {
	integer := "int"
	if o.Rows > math.MaxInt32 {
		integer = "bigint"
	}
	s := &Shape{
		Columns: []Column{
			{Name: "id", Type: integer, NotNull: true, AutoInc: o.AutoInc},
			{Name: "k", Type: integer, NotNull: true},
			{Name: "c", Type: "char(120)", NotNull: true},
			{Name: "pad", Type: "char(60)", NotNull: true},
		},
		Indexes: []Index{{Name: "PRIMARY", Columns: "id"}},
		Engine:  o.Engine,
	}
	if o.Secondary {
		s.Indexes[0].Name = "xid"
	}
	if o.CreateSecondary {
		s.Indexes = append(s.Indexes, Index{Name: fmt.Sprintf("k_%d", n), Columns: "k"})
	}
	return s
}

// row returns the function that makes sysbench's rows: digits for c, then for
// pad, then k, in its order of draws. Without the id, the server numbers them.
func (o Sbtest) row(withID bool) func([]byte, *random.Source, int64) []byte {
	k := o.K.Over(1, max(o.Rows, 1))
	return func(dst []byte, src *random.Source, n int64) []byte {
		var c [random.CLen]byte
		var pad [random.PadLen]byte
		src.Groups(c[:])
		src.Groups(pad[:])
		dst = slices.Grow(dst, random.CLen+random.PadLen+64)
		dst = append(dst, '(')
		if withID {
			dst = strconv.AppendInt(dst, n, 10)
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, k.Draw(src), 10)
		dst = append(dst, ",'"...)
		dst = append(dst, c[:]...)
		dst = append(dst, "','"...)
		dst = append(dst, pad[:]...)
		return append(dst, "')"...)
	}
}

// Bulk returns the empty tables of sysbench's bulk_insert, one for each
// connection.
func Bulk(connections int) Spec {
	s := Spec{Tables: make([]Table, 0, connections), Drifts: true}
	for n := 1; n <= connections; n++ {
		s.Tables = append(s.Tables, Table{
			Name:    "sbtest" + strconv.Itoa(n),
			Create:  fmt.Sprintf("CREATE TABLE sbtest%d (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))", n),
			Content: "bulk_insert 1",
			Shape: &Shape{
				Columns: []Column{{Name: "id", Type: "int", NotNull: true}, {Name: "k", Type: "int", NotNull: true}},
				Indexes: []Index{{Name: "PRIMARY", Columns: "id"}},
			},
		})
	}
	return s
}
