"""The rankers and recipes that declare themselves, as contract tests know them."""

from localrank import fusion, rankers, recipes
from localrank.registry import declared

RANKERS = {
    part.__name__: part
    for package in (rankers, fusion, recipes)
    for part in declared(package).values()
}
RECIPES = {part.__name__ for part in declared(recipes).values()}
