# `make help` lists what there is. Parts with more targets of their own live in mk/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
ARGS ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-zA-Z0-9_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

include $(wildcard mk/*.mk)
