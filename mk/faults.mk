.PHONY: test-faults
test-faults: ## the services against an AWS that misbehaves on cue (SERVICE_BIN_DIR=… runs other binaries, such as a release's)
	cargo test -p tests $(ARGS)
