"""What the module's README says, to be held against the module."""

import re

import toolchain


def text() -> str:
    return (toolchain.MODULE / "README.md").read_text()


def counts() -> dict[tuple[bool, bool, bool], int]:
    """Resources by producer, consumer, payments, from the rows `| yes | no | yes | N | ...`."""
    rows = re.findall(r"^\| (yes|no) \| (yes|no) \| (yes|no) \| (\d+) \|", text(), flags=re.MULTILINE)
    return {(p == "yes", c == "yes", y == "yes"): int(count) for p, c, y, count in rows}


def table(heading: str) -> dict[str, list[str]]:
    """The cells of a section's table after the first, by each name in the first cell."""
    section = text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")]
    return {name: row[1:] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
