.PHONY: chart-e2e
chart-e2e: ## the chart's life on a real API server; the first run compiles one, which takes a while; ARGS are pytest's
	@tools/helm helm helm3 kubectl >/dev/null
	@python=$$(tools/venv chart-e2e)/bin/python && $$python -m pytest tests/chart-e2e -p no:cacheprovider $(ARGS)
