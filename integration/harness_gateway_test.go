package integration

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// gatewayImage is the one that docker-compose.yml uses.
const gatewayImage = "versity/versitygw:v1.8.0"

// gateway is an S3 gateway over a folder inside its container.
type gateway struct {
	Endpoint  string // http://127.0.0.1:port
	AccessKey string
	SecretKey string
	Container *testcontainers.DockerContainer
	client    *s3.Client
}

// s3Gateway returns the gateway that all tests share.
func s3Gateway(t *testing.T) *gateway {
	t.Helper()
	requireImage(t, gatewayImage)
	return shared.gateway.get(t, func() (*gateway, error) {
		gw, err := startGateway(context.Background())
		if err == nil {
			shared.atExit(func() { terminate(gw.Container) })
		}
		return gw, err
	})
}

func startGateway(ctx context.Context) (*gateway, error) {
	gw := &gateway{AccessKey: "cellbench", SecretKey: "secret/with+signs"}
	container, err := testcontainers.Run(ctx, gatewayImage, owned(),
		testcontainers.WithEnv(map[string]string{"ROOT_ACCESS_KEY": gw.AccessKey, "ROOT_SECRET_KEY": gw.SecretKey}),
		testcontainers.WithExposedPorts("7070/tcp"),
		testcontainers.WithCmd("posix", "--nometa", "/tmp"),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/").WithPort("7070/tcp").
			WithStatusCodeMatcher(func(int) bool { return true }).WithStartupTimeout(time.Minute)),
	)
	if err != nil {
		terminate(container)
		return nil, fmt.Errorf("run %s: %w", gatewayImage, err)
	}
	gw.Container = container
	if gw.Endpoint, err = container.PortEndpoint(ctx, "7070/tcp", "http"); err != nil {
		terminate(container)
		return nil, fmt.Errorf("find endpoint: %w", err)
	}
	gw.client = s3Client(gw.Endpoint, gw.AccessKey, gw.SecretKey)
	return gw, nil
}

// s3Client is an independent way to look into a bucket: the SDK, without our sink.
func s3Client(endpoint, access, secret string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(access, secret, ""),
	})
}

// Env returns the variables that lead any AWS client to the gateway.
func (g *gateway) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_S3=" + g.Endpoint,
		"AWS_ACCESS_KEY_ID=" + g.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + g.SecretKey,
		"AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Bucket creates an empty bucket. It lives as long as the gateway.
func (g *gateway) Bucket(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("it-%d", names.Add(1))
	if _, err := g.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatalf("create bucket %s: %v", name, err)
	}
	return name
}

// Keys lists a bucket below a prefix.
func (g *gateway) Keys(t *testing.T, bucket, prefix string) []string {
	t.Helper()
	return bucketKeys(t, g.client, bucket, prefix)
}

// Object returns the body of one object.
func (g *gateway) Object(t *testing.T, bucket, key string) []byte {
	t.Helper()
	return bucketObject(t, g.client, bucket, key)
}

func bucketKeys(t *testing.T, client *s3.Client, bucket, prefix string) []string {
	t.Helper()
	var keys []string
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatalf("list s3://%s/%s: %v", bucket, prefix, err)
		}
		for _, object := range page.Contents {
			keys = append(keys, aws.ToString(object.Key))
		}
	}
	return keys
}

func bucketObject(t *testing.T, client *s3.Client, bucket, key string) []byte {
	t.Helper()
	object, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatalf("get s3://%s/%s: %v", bucket, key, err)
	}
	defer func() { _ = object.Body.Close() }()
	body, err := io.ReadAll(object.Body)
	if err != nil {
		t.Fatalf("read s3://%s/%s: %v", bucket, key, err)
	}
	return body
}
