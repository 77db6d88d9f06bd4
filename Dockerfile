# The image of one cell: a static binary, certificates and two empty folders.
#
#   docker build --build-arg VERSION=$(git describe --always) -t cellbench .
#   docker run --rm -e BENCH_MYSQL_HOST=... -v "$PWD/results:/results" --user "$(id -u)" cellbench
#
# It needs no BuildKit. Where golang:1.26 cannot be pulled, `make images` builds a
# stand-in under that name.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# timetzdata puts the time zones into the binary.
ENV CGO_ENABLED=0 GOFLAGS="-trimpath -tags=timetzdata"
# What others wrote is compiled in a layer of its own, so that a change here does
# not compile it again.
RUN go build \
      github.com/aws/aws-sdk-go-v2/config \
      github.com/aws/aws-sdk-go-v2/feature/rds/auth \
      github.com/aws/aws-sdk-go-v2/service/s3 \
      github.com/go-analyze/charts \
      github.com/go-sql-driver/mysql \
      github.com/goccy/go-yaml \
      golang.org/x/perf/benchfmt \
      golang.org/x/perf/benchmath
COPY . .
ARG VERSION=dev
RUN go build \
      -ldflags "-s -w -X main.version=${VERSION}" -o /out/task ./task \
 && mkdir -p /out/root/results /out/root/tmp \
 && chmod 1777 /out/root/results /out/root/tmp

FROM scratch
LABEL org.opencontainers.image.title="cellbench" \
      org.opencontainers.image.description="One MySQL benchmark cell: environment in, JSON result out" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# /results is where BENCH_RESULTS points by default, /tmp is for the tools that
# expect one; both are writable for whichever user the container runs as.
COPY --from=build --chown=65532:65532 /out/root/ /
COPY --from=build /out/task /task
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/task"]
