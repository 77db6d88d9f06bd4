package sink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"cellbench/internal/bench"
)

// maxBackoff is the longest wait between two tries.
const maxBackoff = 8 * time.Second

// try runs f until it succeeds, fails for good or the tries or the time are used
// up. Each run has a deadline of its own, so that a stalled connection is left.
func (s *s3Sink) try(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	wait := s.options.Backoff
	for left := s.options.Retries; ; {
		err := s.attempt(ctx, f)
		if errors.Is(err, errAgain) {
			continue
		}
		if err == nil || left <= 0 || ctx.Err() != nil || !isTransient(err) {
			return err
		}
		left--
		select {
		case <-ctx.Done():
			return err // the last failure says more than that time is up
		case <-time.After(jitter(wait)):
		}
		wait = min(2*wait, maxBackoff)
	}
}

// attempt runs f once within AttemptTimeout.
func (s *s3Sink) attempt(ctx context.Context, f func(context.Context) error) error {
	one, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	err := f(one)
	if err != nil && one.Err() != nil && ctx.Err() == nil {
		return &stallError{s.options.AttemptTimeout, err}
	}
	return err
}

// jitter spreads the tries of many cells that fail at once over the second half
// of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// stallError is a try that got no answer in its time.
type stallError struct {
	after time.Duration
	err   error
}

func (e *stallError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }
func (e *stallError) Unwrap() error { return e.err }

// isTransient reports whether another try can help.
func isTransient(err error) bool {
	var stall *stallError
	var body *bodyError
	switch {
	case errors.As(err, &stall), errors.As(err, &body), errorCode(err) == "ConditionalRequestConflict", status(err) == http.StatusConflict:
		return true
	case isCertificate(err), isPlain(err):
		return false
	}
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// isUnheard reports whether the request of a failed try may have been carried
// out all the same: no answer came, or one of a server in trouble.
func isUnheard(err error) bool { return status(err) == 0 || status(err) >= 500 }

// status returns the HTTP status of an answer, 0 if there was none.
func status(err error) int {
	var r *awshttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

// errorCode returns S3's name of an error, "" if it has none.
func errorCode(err error) string {
	var a smithy.APIError
	if errors.As(err, &a) {
		return a.ErrorCode()
	}
	return ""
}

func isPreconditionFailed(err error) bool {
	// 304 was the answer of early MinIO releases.
	return status(err) == http.StatusPreconditionFailed || errorCode(err) == "PreconditionFailed" || status(err) == http.StatusNotModified
}

// isUnknownCondition reports whether the store refused If-None-Match itself.
func isUnknownCondition(err error) bool {
	if status(err) == http.StatusNotImplemented || errorCode(err) == "NotImplemented" {
		return true
	}
	return status(err) == http.StatusBadRequest && strings.Contains(strings.ToLower(err.Error()), "if-none-match")
}

func isNotFound(err error) bool {
	return errorCode(err) == "NoSuchKey" || errorCode(err) == "NotFound"
}

func isDenied(err error) bool { return status(err) == http.StatusForbidden }

func isCertificate(err error) bool {
	var v *tls.CertificateVerificationError
	var u x509.UnknownAuthorityError
	var h x509.HostnameError
	return errors.As(err, &v) || errors.As(err, &u) || errors.As(err, &h)
}

// isPlain reports whether the server answered TLS with something else. For HTTP,
// net/http has an error of its own that has no name.
func isPlain(err error) bool {
	var r tls.RecordHeaderError
	return errors.As(err, &r) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// credentials finds credentials, so that there being none has a message of its
// own.
func (s *s3Sink) credentials(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	if _, err := s.client.Options().Credentials.Retrieve(ctx); err != nil {
		return s.explain("write to", &credentialsError{err})
	}
	return nil
}

// credentialsError says that there are no credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// storeError is an error with a text for people; the SDK's own stays in the chain.
type storeError struct {
	text string
	err  error
}

func (e *storeError) Error() string { return e.text }
func (e *storeError) Unwrap() error { return e.err }

// explain turns an error of the SDK into one clear line with a class. verb goes
// before the destination: "store a/b.json in".
func (s *s3Sink) explain(verb string, err error) error {
	code, what := s.diagnose(err)
	text := fmt.Sprintf("%s %s: %s", verb, s, what)
	if s.endpoint != "" {
		text += " (endpoint " + s.endpoint + ")"
	}
	return &bench.Error{Code: code, Err: &storeError{text, err}}
}

// diagnose says what an error means and what the user can do.
func (s *s3Sink) diagnose(err error) (bench.ExitCode, string) {
	var creds *credentialsError
	var corrupt *corruptError
	switch {
	case errors.Is(err, ErrExists):
		return bench.ExitStore, ErrExists.Error()
	case errors.As(err, &corrupt):
		return bench.ExitStore, corrupt.Error()
	case errors.Is(err, bench.ErrTooLarge):
		return bench.ExitStore, fmt.Sprintf("%s: more than %d bytes", bench.ErrTooLarge, bench.MaxProduced)
	case errors.Is(err, context.Canceled):
		return bench.ExitInterrupted, "stopped"
	case errors.As(err, &creds):
		what := "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the container a role"
		if cause := brief(err); !strings.Contains(cause, "IMDS") { // it is asked last, for all that have nothing else
			what += " (" + cause + ")"
		}
		return bench.ExitConfig, what
	case isPlain(err):
		return bench.ExitConfig, "the endpoint does not speak TLS; should it begin with http://?"
	case isCertificate(err):
		return bench.ExitConfig, "the server's certificate is not trusted: set AWS_CA_BUNDLE to the file of its authority (" + brief(err) + ")"
	case status(err) == 0:
		return bench.ExitUnreachable, s.unreachable(err)
	}
	return s.diagnoseAnswer(err)
}

// diagnoseAnswer does so for an answer of the store.
func (s *s3Sink) diagnoseAnswer(err error) (bench.ExitCode, string) {
	switch code := errorCode(err); {
	case code == "NoSuchBucket", status(err) == http.StatusNotFound:
		return bench.ExitConfig, fmt.Sprintf("bucket %q does not exist", s.bucket)
	case code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch", code == "InvalidToken", code == "AuthorizationHeaderMalformed":
		return bench.ExitConfig, "the credentials or the region are wrong: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (" + brief(err) + ")"
	case code == "ExpiredToken":
		return bench.ExitConfig, "the credentials have expired (" + brief(err) + ")"
	case code == "RequestTimeTooSkewed":
		return bench.ExitConfig, "this machine's clock is wrong (" + brief(err) + ")"
	case code == "PermanentRedirect", status(err)/100 == 3:
		return bench.ExitConfig, fmt.Sprintf("bucket %q is in another region: set AWS_REGION (%s)", s.bucket, brief(err))
	case isDenied(err):
		return bench.ExitUnsafe, "access denied: needed are s3:PutObject to store, s3:GetObject and s3:ListBucket to report, on this bucket and prefix (" + brief(err) + ")"
	case status(err) >= 500, status(err) == http.StatusTooManyRequests:
		return bench.ExitUnreachable, fmt.Sprintf("the store fails (%s)", brief(err))
	case status(err)/100 == 4:
		return bench.ExitConfig, "the store refuses the request (" + brief(err) + ")"
	}
	return bench.ExitStore, brief(err)
}

// unreachable explains that no answer came.
func (s *s3Sink) unreachable(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		hint := ""
		if strings.HasPrefix(dns.Name, s.bucket+".") && s.endpoint != "" {
			hint = "; if the store wants the bucket in the path, set BENCH_S3_PATH_STYLE=true"
		}
		return fmt.Sprintf("host %s is not known%s", dns.Name, hint)
	}
	var stall *stallError
	if errors.As(err, &stall) {
		return stall.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", s.options.Timeout)
	}
	return "no connection (" + brief(err) + ")"
}

// brief returns the part of an SDK error that says something: S3's code and
// message, or the innermost cause.
func brief(err error) string {
	var a smithy.APIError
	if errors.As(err, &a) {
		if a.ErrorMessage() == "" || a.ErrorMessage() == a.ErrorCode() {
			return fmt.Sprintf("%d %s", status(err), a.ErrorCode())
		}
		return fmt.Sprintf("%d %s: %s", status(err), a.ErrorCode(), firstLine(a.ErrorMessage()))
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return firstLine(op.Error())
	}
	text := err.Error()
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		text = next.Error()
	}
	return firstLine(text)
}

// firstLine cuts a text to one line of bearable length.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}
