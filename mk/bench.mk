# What the services cost: docs/benchmarks.md. Peers need REFERENCE_DIR and BENTO_DIR (see tools/bench-peers); without them they
# are NOT RUN, and the output says so.
# The services are built as `make release` builds them, since another choice of packages would change their features.
BENCH := target/release/bench
PARTS ?=
export REFERENCE_DIR BENTO_DIR

.PHONY: bench
bench: bench-build bench-peers ## what the services cost, beside what users would pick instead; about 50 minutes, on a quiet machine (PARTS=producer …)
	$(BENCH) run $(PARTS)
	$(BENCH) report

.PHONY: bench-quick
bench-quick: bench-build ## a look at the same in two minutes: one short run of the most telling cases, printed only
	$(BENCH) run --quick
	$(BENCH) report --quick

.PHONY: bench-build
bench-build:
	cargo build --release -p producer -p consumer -p payments -p bench-bare
	cargo build --release -p bench
	cargo build -p sandbox

.PHONY: bench-peers
bench-peers:
	tools/bench-peers

.PHONY: bench-guard
bench-guard: ## instructions of the hot paths against the committed counts; over 5 % more fails (UPDATE=1 writes the counts)
	@tools/bench-guard $(if $(UPDATE),--update)
