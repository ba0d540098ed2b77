.PHONY: test-faults
test-faults: ## the services against an AWS that misbehaves on cue (SERVICE_BIN_DIR=… runs other binaries, such as a release's)
	cargo test --workspace --test 'faults_*' --test scripted_aws --test whole --test crash $(ARGS)

.PHONY: test-crash
test-crash: ## services killed under load (CRASH_EVENTS, CRASH_KILLS, CRASH_SEED); as many and as often as a release should stand
	CRASH_EVENTS=$${CRASH_EVENTS:-20000} CRASH_KILLS=$${CRASH_KILLS:-50} cargo test --workspace --test crash -- --nocapture $(ARGS)

.PHONY: test-soak
test-soak: ## ten minutes of steady load (SOAK=10m): descriptors, threads and memory of the services stay flat
	SOAK=$${SOAK:-10m} cargo test --workspace --test whole -- --nocapture soak $(ARGS)

.PHONY: fuzz
fuzz: ## every property test, so often (PROPTEST_CASES=5000), and those that run services a hundredth of it
	PROPTEST_CASES=$${PROPTEST_CASES:-5000} cargo test --workspace --lib -- $(ARGS)
	PROPTEST_CASES=$$(( ($${PROPTEST_CASES:-5000} + 99) / 100 )) cargo test --workspace --test whole -- properties $(ARGS)
