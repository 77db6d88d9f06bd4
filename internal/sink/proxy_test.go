package sink

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// fault is how the proxy treats a request, the n-th (from 1) that it was made
// for. It forwards by next, or not.
type fault func(n int, w http.ResponseWriter, r *http.Request, next http.Handler)

// startProxy puts a real HTTP proxy before the gateway and points the AWS
// variables at it. Requests that match get the fault; it returns their number.
func startProxy(t *testing.T, g *gateway, match func(*http.Request) bool, f fault) *atomic.Int32 {
	t.Helper()
	target, err := url.Parse(g.url)
	if err != nil {
		t.Fatal(err)
	}
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !match(r) {
			next.ServeHTTP(w, r)
			return
		}
		f(int(count.Add(1)), w, r, next)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	return &count
}

func isPut(r *http.Request) bool { return r.Method == http.MethodPut }
func isGet(r *http.Request) bool { return r.Method == http.MethodGet }

// answer sends an S3 error.
func answer(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
}

// hangUp closes the client's connection without a word.
func hangUp() { panic(http.ErrAbortHandler) }

// refuse answers the first n requests with an error and forwards the rest.
func refuse(first, status int, code string) fault {
	return func(n int, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n <= first {
			answer(w, status, code, "injected")
			return
		}
		next.ServeHTTP(w, r)
	}
}

// loseAnswer carries out the first request but keeps its answer.
func loseAnswer(n int, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if n > 1 {
		next.ServeHTTP(w, r)
		return
	}
	next.ServeHTTP(httptest.NewRecorder(), r)
	hangUp()
}

// failAfterwards carries out the first request and answers that it failed.
func failAfterwards(n int, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if n > 1 {
		next.ServeHTTP(w, r)
		return
	}
	next.ServeHTTP(httptest.NewRecorder(), r)
	answer(w, http.StatusInternalServerError, "InternalError", "injected")
}

// stall takes the first request and never answers.
func stall(n int, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if n > 1 {
		next.ServeHTTP(w, r)
		return
	}
	silence(r)
}

// silence takes a request and waits until the client has had enough. The server
// notices that it left only once the body is read.
func silence(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	hangUp()
}

// unknownCondition refuses requests with If-None-Match in the given way.
func unknownCondition(status int, code, message string) fault {
	return func(_ int, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" {
			answer(w, status, code, message)
			return
		}
		next.ServeHTTP(w, r)
	}
}
