package integration

import (
	"bytes"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestServers proves that the helpers lead to real servers: a schema and an account
// of the test's own, and the version that the flavour should have.
func TestServers(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		var schema, version string
		if err := srv.Open(t, db).QueryRowContext(t.Context(), "SELECT DATABASE(), VERSION()").Scan(&schema, &version); err != nil {
			t.Fatal(err)
		}
		if schema != db {
			t.Errorf("schema %q, want %q", schema, db)
		}
		t.Logf("%s %s on %s:%d", srv.Flavour, version, srv.Host, srv.Port)
		srv.User(t, "SELECT ON "+db+".*")
		if before := srv.Status(t, "Com_select"); before["Com_select"] < 1 {
			t.Errorf("Com_select = %v, want at least 1", before)
		}
	})
}

// TestGateway proves that an object put into a fresh bucket is listed and read back.
func TestGateway(t *testing.T) {
	gw := s3Gateway(t)
	bucket := gw.Bucket(t)
	key, body := "a/b/c.json", []byte(`{}`)
	put(t, gw, bucket, key, body)
	if keys := gw.Keys(t, bucket, "a/"); !slices.Equal(keys, []string{key}) {
		t.Errorf("keys = %v, want only %s", keys, key)
	}
	if got := gw.Object(t, bucket, key); string(got) != string(body) {
		t.Errorf("body = %q, want %q", got, body)
	}
}

func put(t *testing.T, gw *gateway, bucket, key string, body []byte) {
	t.Helper()
	input := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body)}
	if _, err := gw.client.PutObject(t.Context(), input); err != nil {
		t.Fatalf("put s3://%s/%s: %v", bucket, key, err)
	}
}
