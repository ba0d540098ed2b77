.PHONY: alerts
alerts: ## the alerts and the dashboard: rules tested with promtool, every metric and runbook section that they name; ARGS: pytest arguments
	@bin=$$(tools/helm helm) && promtool=$$(tests/alerts/promtool) && python=$$(tools/venv alerts)/bin/python && \
	  mkdir -p .cache/scrapes && SCRAPES=$$PWD/.cache/scrapes cargo test -q --workspace --test metrics what_services && \
	  HELM_BIN=$$bin PROMTOOL=$$promtool $$python -m pytest tests/alerts -p no:cacheprovider -q $(ARGS)
