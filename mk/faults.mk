.PHONY: test-faults
test-faults: ## the services against an AWS that misbehaves on cue (SERVICE_BIN_DIR=… runs other binaries, such as a release's)
	cargo test -p tests $(ARGS)

.PHONY: test-crash
test-crash: ## services killed under load (CRASH_EVENTS, CRASH_KILLS, CRASH_SEED); as many and as often as a release should stand
	CRASH_EVENTS=$${CRASH_EVENTS:-20000} CRASH_KILLS=$${CRASH_KILLS:-50} cargo test -p tests --test crash -- --nocapture $(ARGS)
