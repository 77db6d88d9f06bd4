package scenario

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

// StateTable is the table in the benchmark database that holds the state found
// while a cell has changed the server. It is the one database in which cellbench
// surely may make tables; the next cell looks for it in all databases it may see.
const StateTable = "cellbench_state"

// saved is what is needed to put a server back. Its JSON form lies in
// [StateTable], compressed: 1,300 instruments take some 8 kB.
type saved struct {
	Format      int                 `json:"format"`
	Scenario    string              `json:"scenario"` // that was being applied
	Consumers   map[flag][]string   `json:"consumers"`
	Instruments map[string][]string `json:"instruments"` // "ENABLED/TIMED" -> names
	Variables   []variable          `json:"variables"`   // in the order they were set
	Undo        []string            `json:"undo"`
}

// variable is a global variable with the value found.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// savedFormat is the version of the saved form.
const savedFormat = 1

// save takes from the state found what a restore needs.
func save(s Scenario, found *state, set []string) *saved {
	v := &saved{
		Format: savedFormat, Scenario: s.Name, Undo: s.Undo,
		Consumers: map[flag][]string{}, Instruments: map[string][]string{},
	}
	for _, c := range found.consumers {
		v.Consumers[c.Enabled] = append(v.Consumers[c.Enabled], c.Name)
	}
	for _, i := range found.instruments {
		key := string(i.Enabled) + "/" + string(i.Timed)
		v.Instruments[key] = append(v.Instruments[key], i.Name)
	}
	for _, name := range set {
		if value, ok := found.variables[name]; ok {
			v.Variables = append(v.Variables, variable{name, value})
		}
	}
	return v
}

// state turns the saved form back into the state found.
func (v *saved) state() *state {
	s := &state{variables: map[string]string{}}
	for enabled, names := range v.Consumers {
		for _, name := range names {
			s.consumers = append(s.consumers, consumer{name, enabled})
		}
	}
	for key, names := range v.Instruments {
		enabled, timed, _ := strings.Cut(key, "/")
		for _, name := range names {
			s.instruments = append(s.instruments, instrument{name, flag(enabled), flag(timed)})
		}
	}
	for _, v := range v.Variables {
		s.variables[v.Name] = v.Value
	}
	s.sort()
	return s
}

// encode and decode are the form in the table: JSON, gzip, base64.
func (v *saved) encode() (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return "", fmt.Errorf("encode state: %w", err)
	}
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("encode state: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// maxSaved bounds what a row may unpack to.
const maxSaved = 16 << 20

func decodeSaved(text string) (*saved, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxSaved))
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	v := new(saved)
	if err := json.Unmarshal(plain, v); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	if v.Format != savedFormat {
		return nil, fmt.Errorf("decode state: its format is %d, this cellbench knows %d", v.Format, savedFormat)
	}
	return v, nil
}

// store writes the saved state into the benchmark database. A row that is there
// belongs to another cell at work, since left-over ones were dealt with before.
func (v *saved) store(ctx context.Context, c *mysql.Conn) error {
	text, err := v.encode()
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+StateTable+` (
		id INT NOT NULL PRIMARY KEY, owner BIGINT UNSIGNED NOT NULL, scenario VARCHAR(64) NOT NULL,
		saved_at BIGINT NOT NULL, state MEDIUMTEXT NOT NULL)`)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "INSERT INTO "+StateTable+" (id, owner, scenario, saved_at, state) VALUES (1, ?, ?, UNIX_TIMESTAMP(), ?)",
		int64(c.ID()), v.Scenario, text)
	if mysql.IsError(err, 1062) {
		return bench.Errorf(bench.ExitBusy, "save the state found: another cell is changing this server")
	}
	return err
}

// forget removes the saved state, and the table with it where the account may.
func forget(ctx context.Context, c *mysql.Conn, schema string) error {
	table := quoteName(schema) + "." + StateTable
	if _, err := c.Exec(ctx, "DELETE FROM "+table+" WHERE id = 1"); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "DROP TABLE "+table)
	if mysql.IsDenied(err) {
		return nil
	}
	return err
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// leftover is a saved state that was found on the server.
type leftover struct {
	schema string
	owner  string // connection id of the cell
	age    time.Duration
	text   string
	// restarted: the server was started after the state was saved, so what the cell
	// had changed is gone with the old process.
	restarted bool
}

// leftovers finds saved states in all databases that the account may see.
func leftovers(ctx context.Context, c *mysql.Conn) ([]leftover, error) {
	tables, err := c.Query(ctx, "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = ?", StateTable)
	if err != nil {
		return nil, err
	}
	var found []leftover
	for _, t := range tables.Rows {
		schema := t[0].String
		rows, err := c.Query(ctx, "SELECT owner, state, UNIX_TIMESTAMP() - saved_at FROM "+quoteName(schema)+"."+StateTable+" WHERE id = 1")
		if mysql.IsDenied(err) || mysql.IsError(err, 1146) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, r := range rows.Rows {
			age := time.Duration(number(r[2].String)) * time.Second
			restarted, err := restartedSince(ctx, c, age)
			if err != nil {
				return nil, err
			}
			found = append(found, leftover{schema: schema, owner: r[0].String, text: r[1].String, age: age, restarted: restarted})
		}
	}
	return found, nil
}

// restartedSince reports whether the server has been up for less than age. A
// clock that was set meanwhile misleads it only by more than the server's uptime
// at the time of saving.
func restartedSince(ctx context.Context, c *mysql.Conn, age time.Duration) (bool, error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'")
	if err != nil || len(rows.Rows) == 0 {
		return false, err
	}
	const slack = 2 * time.Second // both are whole seconds
	return time.Duration(number(rows.Rows[0][1].String))*time.Second+slack < age, nil
}

// ownerGone waits a little for the connection of the cell that saved a state to
// go: a server needs a moment to notice that a client was killed.
func ownerGone(ctx context.Context, c *mysql.Conn, owner string) (bool, error) {
	const patience, turn = 3 * time.Second, 100 * time.Millisecond
	for start := time.Now(); ; {
		_, gone, err := c.Value(ctx, "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ?", owner)
		if err != nil || gone || time.Since(start) > patience {
			return gone, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(turn):
		}
	}
}
