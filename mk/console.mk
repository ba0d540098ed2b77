.PHONY: console-test openapi-test
console-test: ## the sandbox's page in a headless Chromium (ARGS: pytest's; CONSOLE_SHOTS=DIR keeps pictures)
	cargo build -q -p sandbox
	@chromium=$$(tools/chromium) && python=$$(tools/venv console)/bin/python && \
	  CHROMIUM=$$chromium $$python -m pytest tests/console -p no:cacheprovider -q $(ARGS)

openapi-test: ## requests made from the OpenAPI documents, sent to the sandbox's services; ARGS: schemathesis'
	cargo build -q -p sandbox
	@python=$$(tools/venv openapi)/bin/python && $$python tests/openapi/run.py $(ARGS)
