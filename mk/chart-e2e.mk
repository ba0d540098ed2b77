.PHONY: chart-e2e
chart-e2e: ## the chart's life on a real API server (first run compiles one: about 15 minutes); ARGS: pytest arguments
	@bin=$$(tools/helm helm) && python=$$(tools/venv chart-e2e)/bin/python && \
	  HELM=$$bin/helm $$python -m pytest tests/chart-e2e -p no:cacheprovider $(ARGS)
