"""A stand-in for the aws command: it answers `ecr get-login-password` and nothing else."""

from pathlib import Path

PASSWORD = "one-time-password"
# bcrypt of the password above, as the registry's htpasswd file wants it. ECR's user is always AWS.
HTPASSWD = "AWS:$2y$05$CL97dbDz.g0dzectqXE5fuof/hYByORIKZhPWRyI6/MCD06GVZGsK\n"

SCRIPT = """#!/usr/bin/env bash
echo "$@" >>'{log}'
[ "$*" = "ecr get-login-password --region eu-central-1" ] || {{ echo "unexpected call: aws $*" >&2; exit 254; }}
{answer}
"""


def install(folder: Path, answer: str = f"echo {PASSWORD}") -> Path:
    """Writes the command into the folder, which goes in front of PATH, and gives the file with its calls."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "calls"
    log.touch()
    command = folder / "aws"
    command.write_text(SCRIPT.format(log=log, answer=answer))
    command.chmod(0o755)
    return log
