package cell

import (
	"context"
	"fmt"
	"os"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
	"cellbench/internal/scenario"
)

// target is the server a cell runs against.
type target struct {
	name   string
	door   *mysql.Door
	server *localserver.Server // nil unless the target is local
}

// openTarget makes the door to the server that cfg names, or starts a throwaway
// one in the state that the scenario needs at start-up.
func openTarget(ctx context.Context, cfg *config.Config, sc scenario.Scenario, o Options) (*target, error) {
	if !cfg.Local {
		door, err := Door(cfg, o.Token)
		if err != nil {
			return nil, err
		}
		return &target{name: first(cfg.Target, door.Address()), door: door}, nil
	}
	program, err := localserver.Find()
	if err != nil {
		return nil, err
	}
	server, err := localserver.Start(ctx, localserver.Options{
		Program: &program, Args: sc.LocalArgs(), Database: cfg.MysqlDb, Progress: o.Progress.Step,
	})
	if err != nil {
		return nil, err
	}
	door, err := mysql.NewDoor(mysql.Settings{
		Socket: server.Socket(), User: server.User(), Password: server.Password(), DB: cfg.MysqlDb, ConnectTimeout: connectTimeout(cfg),
	})
	if err != nil {
		return nil, fmt.Errorf("reach the local server: %w", err)
	}
	return &target{name: first(cfg.Target, "local"), door: door, server: server}, nil
}

// Door makes the door to the server that cfg names. token is asked for passwords
// when BENCH_MYSQL_AUTH is rds-iam.
func Door(cfg *config.Config, token func(ctx context.Context, address, user string) (string, error)) (*mysql.Door, error) {
	s := mysql.Settings{
		DSN: cfg.DSN, Host: cfg.MysqlHost, Socket: cfg.MysqlSocket,
		Password: cfg.Password, TLS: cfg.MysqlTLS, TLSCA: cfg.MysqlTLSCa, TLSCert: cfg.MysqlTLSCert, TLSKey: cfg.MysqlTLSKey,
		Auth: cfg.MysqlAuth, ConnectTimeout: connectTimeout(cfg),
	}
	if cfg.DSN == "" {
		s.User, s.DB = cfg.MysqlUser, cfg.MysqlDb
		if cfg.MysqlSocket == "" {
			s.Port = cfg.MysqlPort
		}
	} else if os.Getenv("BENCH_MYSQL_TLS") == "" {
		s.TLS = "" // the DSN's own option counts
	}
	var door *mysql.Door
	if cfg.MysqlAuth == mysql.AuthRDSIAM {
		if token == nil {
			return nil, bench.Errorf(bench.ExitInternal, "reach the target: no source of tokens for rds-iam")
		}
		s.Token = func(ctx context.Context) (string, error) { return token(ctx, door.Address(), door.User()) }
	}
	door, err := mysql.NewDoor(s)
	return door, err
}
