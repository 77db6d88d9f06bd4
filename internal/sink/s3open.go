package sink

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"cellbench/internal/bench"
)

// defaultRegion is signed for when a custom endpoint has no region: S3-compatible
// stores take it, if they look at it at all.
const defaultRegion = "us-east-1"

// openS3 reads the SDK's own configuration (AWS_* variables, profiles) and makes
// a client for the store it names.
func openS3(ctx context.Context, bucket, prefix string, o Options) (Sink, error) {
	s := &s3Sink{bucket: bucket, prefix: prefix, options: o}
	cfg, err := loadConfig(ctx)
	if err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "open %s: %w", s, err)
	}
	s.endpoint = aws.ToString(s3.NewFromConfig(cfg).Options().BaseEndpoint)
	if err := checkEndpoint(s.endpoint); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "open %s: %w", s, err)
	}
	if isForeign(s.endpoint) {
		// No AWS machine behind this store's credentials: asking for the instance's
		// role would only cost seconds and hide that there are none.
		if cfg, err = loadConfig(ctx, config.WithEC2IMDSClientEnableState(imds.ClientDisabled)); err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "open %s: %w", s, err)
		}
	}
	if cfg.Region == "" && s.endpoint != "" {
		cfg.Region = defaultRegion
	}
	if cfg.Region == "" {
		return nil, bench.Errorf(bench.ExitConfig, "open %s: no region: set AWS_REGION to the bucket's, or AWS_ENDPOINT_URL_S3 for another store than AWS", s)
	}
	if s.options.Retries == 0 {
		s.options.Retries = 4
		if cfg.RetryMaxAttempts > 0 {
			s.options.Retries = cfg.RetryMaxAttempts - 1
		}
	}
	pathStyle, err := pathStyle(o.PathStyle, s.endpoint)
	if err != nil {
		return nil, err
	}
	s.client = s3.NewFromConfig(cfg, func(so *s3.Options) {
		so.UsePathStyle = pathStyle
		so.Retryer = aws.NopRetryer{} // try decides, it knows what may have arrived
		so.DisableLogOutputChecksumValidationSkipped = true
		if s.endpoint != "" {
			onlyRequiredChecksums(so, cfg.ConfigSources)
		}
	})
	return s, nil
}

// loadConfig reads the SDK's configuration.
func loadConfig(ctx context.Context, o ...func(*config.LoadOptions) error) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, o...)
	if err != nil {
		return cfg, fmt.Errorf("read AWS configuration: %w", err)
	}
	return cfg, nil
}

// onlyRequiredChecksums switches off the checksum trailers that several
// S3-compatible stores refuse or store into the object, unless the environment or
// the profile asks for them.
func onlyRequiredChecksums(o *s3.Options, sources []any) {
	var request, response bool
	for _, source := range sources {
		switch c := source.(type) {
		case config.EnvConfig:
			request = request || c.RequestChecksumCalculation != aws.RequestChecksumCalculationUnset
			response = response || c.ResponseChecksumValidation != aws.ResponseChecksumValidationUnset
		case config.SharedConfig:
			request = request || c.RequestChecksumCalculation != aws.RequestChecksumCalculationUnset
			response = response || c.ResponseChecksumValidation != aws.ResponseChecksumValidationUnset
		}
	}
	if !request {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}
	if !response {
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
}

// checkEndpoint holds a custom endpoint to the form the SDK needs.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("endpoint %q (AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL) must be http://host[:port] or https://host[:port]", endpoint)
	}
	return nil
}

// isForeign reports whether an endpoint is another store than AWS's S3; a VPC
// endpoint is AWS's.
func isForeign(endpoint string) bool {
	if endpoint == "" {
		return false
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return true
	}
	host := u.Hostname()
	return !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn")
}

// pathStyle decides whether the bucket goes into the path. There is no AWS_
// variable for it; a bare host in a container network has no host per bucket,
// while Alibaba OSS and AWS want one.
func pathStyle(want, endpoint string) (bool, error) {
	switch want {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "", "auto":
	default:
		return false, bench.Errorf(bench.ExitConfig, "BENCH_S3_PATH_STYLE=%q: auto, true or false", want)
	}
	u, err := url.Parse(endpoint)
	if endpoint == "" || err != nil {
		return false, nil
	}
	host := u.Hostname()
	return u.Port() != "" || net.ParseIP(host) != nil || !strings.Contains(host, "."), nil
}
