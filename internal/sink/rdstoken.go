package sink

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"

	"cellbench/internal/bench"
)

// RDSToken makes the token that signs user in to the RDS or Aurora instance at
// address (host:port), with the credentials and region that any AWS tool would
// use. It lives here because this room is the one that knows the AWS SDK. The
// region is that of the address when it names one
// (name.id.<region>.rds.amazonaws.com).
func RDSToken(ctx context.Context, address, user string) (string, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return "", bench.Errorf(bench.ExitConfig, "load AWS configuration for rds-iam: %w", err)
	}
	region := cfg.Region
	host, _, _ := strings.Cut(address, ":")
	if parts := strings.Split(host, "."); len(parts) >= 5 && strings.HasPrefix(strings.Join(parts[len(parts)-3:], "."), "rds.amazonaws") {
		region = parts[len(parts)-4]
	}
	if region == "" {
		return "", bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_AUTH=rds-iam: no region; set AWS_REGION")
	}
	if cfg.Credentials == nil {
		return "", bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_AUTH=rds-iam: no AWS credentials")
	}
	token, err := auth.BuildAuthToken(ctx, address, region, user, cfg.Credentials)
	if err != nil {
		return "", bench.Errorf(bench.ExitConfig, "make a token for rds-iam: %w", err)
	}
	return token, nil
}
