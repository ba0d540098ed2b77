"""Finds Terraform and the AWS provider on this machine, and says plainly what cannot be had.

Terraform: $TERRAFORM, else `terraform` on the PATH, else .cache/bin/terraform, which is built from its Go module.
Provider: a configuration that the user has made (TF_CLI_CONFIG_FILE, ~/.terraformrc) counts as it is; else a mirror folder
from TF_PLUGIN_MIRROR, else one found on this machine; else Terraform is left to ask its registry.

Usage: toolchain.py which          prints the path of Terraform
       toolchain.py init FOLDER    copies the module to FOLDER, initialises it and validates it
Exit codes: 0 done; 1 the module is at fault; 3 Terraform or the provider is not to be had here.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "terraform" / "modules" / "tenant-apps"
CACHE = ROOT / ".cache"
# The version that tofu-controller's runners carry, the oldest that the module allows, and the last under the MPL.
BUILT = "github.com/hashicorp/terraform@v1.5.7"
PROVIDER = "registry.terraform.io/hashicorp/aws"
# Where machine images and packages put a mirror. Other places: TF_PLUGIN_MIRROR.
SEARCHED = ("/opt", "/usr/local", "/usr/share", "/usr/lib", "/srv", "/var/lib", str(Path.home()))


class Missing(Exception):
    """Something that the machine lacks, with what to do about it."""


@cache
def terraform() -> str:
    """Path of the Terraform to use; raises Missing."""
    asked = os.environ.get("TERRAFORM")
    if asked:
        found = shutil.which(asked)
        if not found:
            raise Missing(f"TERRAFORM={asked} is not a program")
        return found
    found = shutil.which("terraform")
    if found:
        return found
    built = CACHE / "bin" / "terraform"
    if not built.exists():
        if not shutil.which("go"):
            raise Missing("terraform is not installed, and without go it cannot be built: install either")
        print(f"toolchain: building {BUILT} (some minutes, once)", file=sys.stderr)
        done = subprocess.run(["nice", "-n", "15", "go", "install", BUILT], env={**os.environ, "GOBIN": str(built.parent)})
        if done.returncode:
            raise Missing(f"terraform is not installed, and `go install {BUILT}` failed (above)")
    return str(built)


def _mirror() -> Path | None:
    asked = os.environ.get("TF_PLUGIN_MIRROR")
    if asked:
        if not (Path(asked) / PROVIDER).is_dir():
            raise Missing(f"TF_PLUGIN_MIRROR={asked} has no {PROVIDER} below it")
        return Path(asked).resolve()
    for top in SEARCHED:
        done = subprocess.run(
            ["find", top, "-maxdepth", "8", "-path", ROOT, "-prune", "-o", "-type", "d", "-path", f"*/{PROVIDER}", "-print", "-quit"],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.stdout.strip():
            return Path(done.stdout.strip()).parents[2]
    return None


@cache
def cli_config() -> str | None:
    """Path of the CLI configuration to run with; None: Terraform's own defaults (its registry)."""
    asked = os.environ.get("TF_CLI_CONFIG_FILE")
    if asked and Path(asked).is_file():
        return asked
    if (Path.home() / ".terraformrc").is_file():
        return str(Path.home() / ".terraformrc")
    mirror = _mirror()
    if mirror is None:
        return None
    config = CACHE / "terraform" / "mirror.tfrc"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
    return str(config)


def environment(**more: str) -> dict[str, str]:
    """The environment to run Terraform in: ours, less what a developer has set for other work."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TF_", "AWS_"))}
    config = cli_config()
    if config:
        kept["TF_CLI_CONFIG_FILE"] = config
    return {**kept, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", "AWS_EC2_METADATA_DISABLED": "true", **more}


def init(folder: Path) -> None:
    """Copies the module to `folder` and initialises it there; raises Missing when the provider cannot be had."""
    binary = terraform()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in MODULE.glob("*.tf"):
        shutil.copy(file, folder)
    done = subprocess.run([binary, "init", "-input=false", "-no-color"], cwd=folder, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise Missing(
            "the AWS provider cannot be had: no mirror on this machine (TF_PLUGIN_MIRROR names one) and "
            f"`terraform init` failed:\n{done.stdout}{done.stderr}"
        )


def main() -> int:
    command, arguments = sys.argv[1:2], sys.argv[2:]
    if (command, len(arguments)) not in ((["which"], 0), (["init"], 1)):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        binary = terraform()
        if command == ["which"]:
            print(binary)
            return 0
        folder = Path(arguments[0]).resolve()
        init(folder)
    except Missing as missing:
        print(f"toolchain: {missing}", file=sys.stderr)
        return 3
    return subprocess.run([binary, "validate", "-no-color"], cwd=folder, env=environment()).returncode and 1


if __name__ == "__main__":
    sys.exit(main())
