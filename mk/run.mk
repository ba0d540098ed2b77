# The plane on this machine. Needs cargo and a C compiler, nothing else.
# Options go into ARGS: make run ARGS='--once --tenant acme=premium'.
# The dev profile: it is the quickest to build from nothing, and `make test` uses the same dependencies.

.PHONY: run
run: ## the whole plane on this machine (ARGS=--once: try it and end; ARGS=--help: every option)
	@cargo run -p sandbox -- $(ARGS)
