.PHONY: chart chart-docs
chart: ## the chart: lint, refusals, objects of every tier and case, schemas of Kubernetes 1.29 to the newest (ARGS: pytest arguments)
	@bin=$$(tools/helm helm helm3) && python=$$(tools/venv chart)/bin/python && \
	  $$python tests/chart/values_table.py --check && \
	  HELM_BIN=$$bin $$python -m pytest tests/chart -p no:cacheprovider -n 2 -q $(ARGS)

chart-docs: ## write the table of values into the chart's README
	@$$(tools/venv chart)/bin/python tests/chart/values_table.py
