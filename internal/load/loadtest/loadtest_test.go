package loadtest_test

import (
	"context"
	"testing"

	"cellbench/internal/load"
	"cellbench/internal/load/driver"
	"cellbench/internal/load/loadtest"
	"cellbench/internal/load/wire"
	"cellbench/internal/mysql"
)

func newDriver(_ *testing.T, s load.Settings, d *mysql.Door) load.Engine {
	return driver.New(s, func(ctx context.Context) (driver.Conn, error) {
		c, n, err := d.DriverConn(ctx)
		return driver.Conn{Driver: c, Net: n}, err
	})
}

func newWire(t *testing.T, s load.Settings, d *mysql.Door) load.Engine {
	e, err := wire.New(s, func(ctx context.Context) (wire.Conn, error) {
		r, err := d.RawConn(ctx)
		if err != nil {
			return wire.Conn{}, err
		}
		return wire.Conn{
			Net: r.Conn, Capabilities: r.Capabilities, MariaDBCapabilities: r.ExtendedCapabilities,
			ConnectionID: r.ConnectionID,
		}, nil
	}, wire.Options{Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEngines(t *testing.T) {
	for _, s := range []struct {
		name  string
		start func(*testing.T) loadtest.Server
	}{
		{"local", loadtest.Local},
		{"mysql", loadtest.Container},
	} {
		t.Run(s.name, func(t *testing.T) {
			server := s.start(t)
			t.Run("wire", func(t *testing.T) { loadtest.Run(t, server, newWire) })
			t.Run("driver", func(t *testing.T) { loadtest.Run(t, server, newDriver) })
			t.Run("capabilities", func(t *testing.T) { testCapabilities(t, server) })
			t.Run("compare", func(t *testing.T) { loadtest.Compare(t, server, newWire, newDriver) })
			if s.name == "mysql" { // MariaDB of this age makes no certificates for itself
				secure := server
				secure.Settings.TLS = mysql.TLSRequired
				t.Run("wire over TLS", func(t *testing.T) { loadtest.Run(t, secure, newWire) })
			}
		})
	}
}
