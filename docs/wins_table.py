"""Write the small table of wins on the pages that claim them.

Its numbers come from the stored page `reproduction/wins.md`. Run it when that page was made anew:
`python docs/wins_table.py`. A test compares both.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent
STUDY = DOCS / "reproduction" / "wins.md"
# The pages, and their way to the folder of the documentation.
PAGES = {
    DOCS.parent / "README.md": "docs/",
    DOCS / "index.md": "",
    DOCS / "methods" / "best.md": "../",
}
TITLE = "The recipes against global models of equal cost"
# A recipe and an opponent of the study, and how the table calls them.
ROWS = {
    "best − 6 mixed with CatBoost": ("`best`", "six global models of mixed kinds, with CatBoost"),
    "best − 6 mixed": ("`best`", "the same without CatBoost"),
    "best − 6 LambdaMARTs": ("`best`", "six LambdaMARTs"),
    "fast − 2 mixed": ("`fast`", "two global models of mixed kinds"),
    "one − global one": ("`one`", "one model that learned from six global ones"),
    "one − LambdaMART": ("`one`", "one LambdaMART"),
}
PLACES = ("all", "held out")
MEASURES = {"ndcg@10": "NDCG@10", "map": "MAP"}
CELL = re.compile(r"([+-]\d\.\d{4}) \[(.*?), (.*?)\] \((.*?); (.*?)\)")
BLOCK = re.compile(r"(?<=<!-- wins -->\n).*?(?=<!-- /wins -->)", re.DOTALL)
LEVEL = 0.05


def block(study: str) -> str:
    """The table and its note, from the text of the study's page."""
    rows = study_rows(study)
    columns = [(measure, place) for measure in MEASURES for place in PLACES]
    titles = [f"{MEASURES[measure]}, {place.replace(' ', '&nbsp;')}" for measure, place in columns]
    lines = [f"| | over | {' | '.join(titles)} |", "|---" * (2 + len(columns)) + "|"]
    for name, (recipe, opponent) in ROWS.items():
        cells = [gain(rows[name, measure][place]) for measure, place in columns]
        lines.append(f"| {recipe} | {opponent} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n" + NOTE


NOTE = (
    "Differences on 2,643 queries of four collections, and on the 1,092 of them that had no part "
    "in choosing the models of `best`, with half of their 95 % intervals. They cover the chance "
    "of the queries and of three trainings. Bold differences are established (p < .05) after "
    "Holm's correction for all tests of [the study](docs/reproduction/wins.md).\n"
)


def study_rows(study: str) -> dict[tuple[str, str], dict[str, str]]:
    """The cells of the study's first table, by (comparison, measure) and by place."""
    _, _, rest = study.partition(f"### {TITLE}\n")
    lines = [line for line in rest.split("\n### ")[0].splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return {(row[0], row[1]): dict(zip(header[2:], row[2:], strict=True)) for row in rows}


def gain(cell: str) -> str:
    """A cell of the study in short: bold if the difference is significant after correction."""
    found = CELL.fullmatch(cell)
    if found is None:
        raise ValueError(f"{STUDY.name}: a cell is not a difference with its p-values: {cell!r}.")
    difference = found[1].replace("0.", ".", 1).replace("-", "−")
    half = (float(found[3]) - float(found[2])) / 2
    corrected = 0.0 if found[5].startswith("<") else float(found[5])
    shown = f"**{difference}**" if corrected < LEVEL else difference
    return f"{shown}&nbsp;±&nbsp;{half:.4f}".replace("±&nbsp;0.", "±&nbsp;.")


def with_table(page: str, study: str, folder: str) -> str:
    """A page with today's table. Links are relative to `folder`."""
    table = block(study).replace("(docs/", f"({folder}")
    return BLOCK.sub(lambda _: table, page)


def main() -> None:
    """Write the table into the pages."""
    study = STUDY.read_text(encoding="utf-8")
    for page, folder in PAGES.items():
        text = page.read_text(encoding="utf-8")
        page.write_text(with_table(text, study, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
