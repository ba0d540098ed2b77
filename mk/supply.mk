# What we stand on: licences, banned crates and sources, vulnerabilities, dependencies that nobody uses, and lists of what an
# image holds.
#
# The advisory database is fetched from where its keepers publish it. Where that cannot be reached it is a failure with
# ADVISORIES_STRICT=1 (the default); with ADVISORIES_STRICT=0 a line that begins with NOT RUN says so, and the rest decides.
ADVISORIES_STRICT ?= 1

.PHONY: supply deny unused advisories sbom
supply: deny unused advisories ## dependencies: licences, bans, sources, unused ones, vulnerabilities (ADVISORIES_STRICT=0 where the database is out of reach)

deny: ## licences, banned crates and sources of every dependency, by deny.toml
	@bin=$$(tools/supply cargo-deny) && "$$bin/cargo-deny" --log-level error --locked check licenses bans sources

unused: ## dependencies that no source names
	@bin=$$(tools/supply cargo-machete) && "$$bin/cargo-machete" --skip-target-dir

advisories: ## known vulnerabilities, withdrawn and abandoned crates among the dependencies
	@bin=$$(tools/supply cargo-deny); \
	if timeout 120 "$$bin/cargo-deny" --log-level error fetch db >/dev/null 2>&1; then \
	    "$$bin/cargo-deny" --log-level error --locked check --disable-fetch advisories; \
	elif [ "$(ADVISORIES_STRICT)" = 0 ]; then \
	    echo "NOT RUN, since the advisory database cannot be fetched here: known vulnerabilities"; \
	else \
	    echo "the advisory database cannot be fetched here" >&2; exit 1; \
	fi

sbom: ## target/sbom/SERVICE.cdx.json: what each image is made of, as CycloneDX
	@for service in producer consumer payments; do tools/sbom $$service; done
