"""The README names everything that the module takes and gives, with the right defaults."""

import re

import readme
import toolchain
from stories import COMBINATIONS

# Defaults that the README gives in words.
IN_WORDS = {"tenant_id": "required", "oidc_provider_arn": "looked up", "queue_kms_key_arn": "SQS's own keys", "tags": "none"}


def declared(kind: str, file: str) -> dict[str, str]:
    """Name and body of each block of a kind."""
    source = (toolchain.MODULE / file).read_text()
    return dict(re.findall(rf'^{kind} "(\w+)" {{\n(.*?)^}}', source, flags=re.MULTILINE | re.DOTALL))


def test_every_variable_is_in_the_readme_with_its_default():
    defaults = {name: re.search(r"^  default += (.+)$", body, re.MULTILINE) for name, body in declared("variable", "variables.tf").items()}
    written = {name: IN_WORDS.get(name) or f"`{default.group(1).strip(chr(34))}`" for name, default in defaults.items()}
    assert {name: cells[0] for name, cells in readme.table("Variables").items()} == written


def test_every_output_is_in_the_readme():
    assert sorted(readme.table("Outputs")) == sorted(declared("output", "outputs.tf"))


def test_the_readme_counts_every_combination_of_flags():
    assert sorted(readme.counts()) == COMBINATIONS
