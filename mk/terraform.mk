# terraform/modules/tenant-apps: formatting, validation, linter, policy scanner, and the module applied to a stand-in for AWS.
#
# What needs the AWS provider (validate, applying) cannot run on a machine that has neither a mirror of it nor a way to
# Terraform's registry. With TERRAFORM_STRICT=1 (the default) that is a failure; with TERRAFORM_STRICT=0 a line that begins
# with NOT RUN says so, and the rest decides.
TERRAFORM_STRICT ?= 1
TF_MODULE := terraform/modules/tenant-apps
TF_CACHE := .cache/terraform
TFLINT_VERSION := v0.64.0
TFLINT := .cache/bin/tflint-$(TFLINT_VERSION)

.PHONY: terraform terraform-fmt terraform-lint terraform-scan terraform-test
terraform: terraform-fmt terraform-lint terraform-scan terraform-test ## the Terraform module: fmt, lint, policy scan, validate, apply on moto

terraform-fmt:
	@binary=$$(python3 tests/terraform/toolchain.py which) && "$$binary" fmt -check -diff -recursive terraform && echo "terraform fmt: clean"

$(TFLINT):
	@command -v go >/dev/null || { echo "tflint cannot be built: go is not installed" >&2; exit 1; }
	@echo "building tflint $(TFLINT_VERSION) (some minutes, once)"
	@mkdir -p $(@D)/tflint-build
	@GOBIN=$(abspath $(@D))/tflint-build nice -n 15 go install github.com/terraform-linters/tflint@$(TFLINT_VERSION)
	@mv $(@D)/tflint-build/tflint $@ && rmdir $(@D)/tflint-build

terraform-lint: $(TFLINT)
	@$(abspath $(TFLINT)) --chdir=$(TF_MODULE) --config=$(abspath tests/terraform/tflint.hcl) && echo "tflint: clean"

terraform-scan:
	@venv=$$(tools/venv checkov) && "$$venv/bin/checkov" --directory $(TF_MODULE) --framework terraform --compact --quiet --skip-download

# 3 is toolchain.py's word for "not to be had on this machine". The tests of the variables need no provider.
terraform-test:
	@venv=$$(tools/venv terraform); status=0; tests=; \
	"$$venv/bin/python" tests/terraform/toolchain.py init $(TF_CACHE)/validate || status=$$?; \
	if [ $$status = 3 ] && [ "$(TERRAFORM_STRICT)" = 0 ]; then tests="test_variables.py test_readme.py"; \
	elif [ $$status != 0 ]; then exit 1; \
	else cargo build --quiet --workspace --bins; fi; \
	(cd tests/terraform && PYTHONDONTWRITEBYTECODE=1 "$$venv/bin/python" -m pytest -q -p no:cacheprovider $$tests $(ARGS)); \
	[ -z "$$tests" ] || echo "NOT RUN, since the AWS provider cannot be had here: terraform validate, and the tests that apply the module"
