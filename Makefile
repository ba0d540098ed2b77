# `make help` lists what there is. Parts with more targets of their own live in mk/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
ARGS ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-zA-Z0-9_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

include $(wildcard mk/*.mk)

# Most tests wait, for a time limit or for another process: two for each core keep it busy.
.PHONY: test
test: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
test: ## every test of the services, on the embedded AWS and on moto
	tools/venv contract >/dev/null
	cargo test --workspace --no-fail-fast $(ARGS)

.PHONY: lint
lint: ## formatting, clippy and rustdoc, with warnings as errors
	@cargo fmt --version >/dev/null 2>&1 || { echo "cargo fmt is missing: rustup component add rustfmt" >&2; exit 1; }
	@cargo clippy --version >/dev/null 2>&1 || { echo "cargo clippy is missing: rustup component add clippy" >&2; exit 1; }
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

.PHONY: docs
docs: ## write what documents take from the code: tables of settings and metrics, SERVICE/openapi.json
	UPDATE_README=1 cargo test -q --workspace --test readme --test metrics lists_every
	UPDATE_README=1 cargo test -q --workspace --lib the_openapi_document_is

.PHONY: release
release: ## the three services as release binaries in target/release
	cargo build --release -p producer -p consumer -p payments
