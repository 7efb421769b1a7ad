"""Draw the pictures of the documentation: the idea, and one or more for each method."""

from __future__ import annotations

from pathlib import Path

import adaptive
import boosting
import clouds
import combining
import coordinates
import distances
import fusing
import linear
import neighbours
import sharing
from idea import idea
from ink import INKS, Picture, draw, write

DOCS = Path(__file__).parents[1]

# By what they show. A page of docs/methods/ shows one or more of them.
PICTURES: dict[str, Picture] = {
    **clouds.PICTURES,
    **neighbours.PICTURES,
    **sharing.PICTURES,
    **adaptive.PICTURES,
    **distances.PICTURES,
    **coordinates.PICTURES,
    **linear.PICTURES,
    **boosting.PICTURES,
    **combining.PICTURES,
    **fusing.PICTURES,
}


def draw_idea(folder: Path = DOCS / "assets") -> None:
    """Draw the diagram of the README and the first page, which is committed."""
    for ink in INKS:
        write(draw(idea, ink), folder / f"idea-{ink.name}.svg")


def draw_methods(folder: Path = DOCS / "methods" / "pictures") -> None:
    """Draw the pictures of the method pages, which are not committed."""
    for name, picture in PICTURES.items():
        for ink in INKS:
            write(draw(picture, ink), folder / f"{name}-{ink.name}.svg")


if __name__ == "__main__":
    draw_idea()
    draw_methods()
