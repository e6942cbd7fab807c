# All commands of the project; `just` lists them.

default:
    @just --list

# The whole story on an embedded broker.
quickstart:
    cargo run --release --example quickstart

# Everything: Rust, Go, integration on a real Apache Kafka.
test:
    cargo test

# Rust's unit tests alone.
unit:
    cargo test --lib

# Go's own tests, without and with the race detector.
go:
    cd go && CGO_ENABLED=0 go test ./...
    cd go && go test -race -tags devbroker ./...

# What CI checks about the text of the code.
lint:
    cargo fmt --all --check
    cargo clippy --all-targets -- -D warnings
    cd go && test -z "$(gofmt -l .)" && go vet -tags devbroker ./...

# The documentation, as docs.rs makes it.
doc:
    DOCS_RS=1 RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

# Licences, bans and advisories of all crates (needs cargo-deny).
deny:
    cargo deny check

# The generated files: bindings, and the lists of options and metrics.
bless:
    LLINGR_BLESS=1 cargo test --test bindings
    LLINGR_BLESS=1 cargo test --lib documentation

# All that CI runs, in its order; `just ci lint doc` runs some of its steps.
ci *steps:
    .ci/run {{steps}}
