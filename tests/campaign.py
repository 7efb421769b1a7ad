"""One attack, and its closing line in the documentation.

    python tests/campaign.py models

Runs the command of a campaign. The last line that it prints stands in `docs/campaigns.json`
afterwards, with the date and the commit, and in the table of `docs/how-we-test.md`. The exit code
is the command's.
"""

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "campaigns.json"
PAGE = ROOT / "docs" / "how-we-test.md"
BEGIN, END = "<!-- campaigns -->\n", "<!-- end of campaigns -->\n"
# By name: what it does, and its command.
CAMPAIGNS = {
    "letor": (
        "made-up and damaged LETOR files, against a slow parser",
        "tests/fuzz_letor.py --count 1000000",
    ),
    "tables": (
        "made-up CSV, Parquet and Arrow tables, against a slow parser and polars",
        "tests/fuzz_tables.py --count 600000",
    ),
    "models": (
        "damaged and crafted model files: refused, or they rank",
        "tests/fuzz_models.py --count 70000",
    ),
    "texts": (
        "damaged and crafted extractors, text models and index folders",
        "tests/fuzz_texts.py --count 30000",
    ),
    "requests": (
        "requests that reach the ranking endpoints of the service, half of them Arrow",
        "benchmarks/fuzz_service.py --count 20000",
    ),
    "load": (
        "ten minutes of mixed load at half of saturation, bad requests among it",
        "benchmarks/serving.py --minutes 10",
    ),
    "users": (
        "two users: what one plants where the other keeps kernels is not executed",
        "-m pytest -q -n 0 tests/_kernels/test_planted_kernels.py",
    ),
    "kills": (
        "`compare` and `train --keep` killed at random moments and started again",
        "tests/kill_commands.py --count 60",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a campaign and write down its result.")
    parser.add_argument("name", choices=CAMPAIGNS)
    name = parser.parse_args().name
    lines = []
    command = [sys.executable, "-u", *CAMPAIGNS[name][1].split()]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if line.strip():
                lines.append(line.strip())
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    results[name] = {
        "result": closing(lines),
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
    }
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    return process.returncode


def closing(lines: list[str]) -> str:
    """The last line; for a table of one row, each of its values with its heading."""
    if not lines:
        return "nothing was printed"
    if not lines[-1].startswith("|"):
        return lines[-1]
    headings, _, values = (line.strip("| ").split(" | ") for line in lines[-3:])
    return "; ".join(f"{heading}: {value}" for heading, value in zip(headings, values, strict=True))


def commit() -> str:
    """The commit that is tried, with a mark if files differ from it: results aside."""
    head = output("git", "rev-parse", "--short", "HEAD")
    others = [".", *(f":!{path.relative_to(ROOT)}" for path in (RESULTS, PAGE))]
    return head + ("+" if output("git", "status", "--porcelain", "--", *others) else "")


def output(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def page(text: str, results: dict[str, dict[str, str]]) -> str:
    """The page, with the table of these results."""
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}{table(results)}{END}{tail}"


def table(results: dict[str, dict[str, str]]) -> str:
    rows = ["| command | what it does | last result | date | commit |", "|---|---|---|---|---|"]
    for name, (what, _) in CAMPAIGNS.items():
        last = results.get(name, {})
        cells = [f"`make campaign-{name}`", what]
        cells += [last.get(key, "not yet run") for key in ("result", "date", "commit")]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
