.PHONY: images images-test delivery gitops
images: ## images of the three services with docker (IMAGE_VERSION, IMAGE_BUILD_ARGS; a base of Debian packages where none can be pulled)
	@tools/with-docker tools/images

images-test: ## builds the images and runs each on an AWS stand-in; ARGS: pytest arguments
	@python=$$(tools/venv images)/bin/python && export IMAGE_REVISION=$$(git rev-parse HEAD) && \
	  tools/with-docker bash -c 'tools/images && "$$0" -m pytest tests/images -p no:cacheprovider "$$@"' $$python $(ARGS)

delivery: ## pipelines on a registry and a runner of this machine, gitops rendered with the chart; ARGS: pytest arguments
	@python=$$(tools/venv delivery)/bin/python && \
	  $$python -m pytest tests/delivery -p no:cacheprovider $(ARGS)

gitops: ## gitops held against Flux's own types and schemas, and the image update applied to it
	@cd tests/delivery/flux && go vet ./... && nice -n 15 go test -count=1 ./...
