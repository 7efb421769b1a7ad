"""Scores of trained rankers as formulas that can be exported to a search engine."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.formulas.base import Formula as Formula
    from localrank.formulas.base import NotExportable as NotExportable
    from localrank.formulas.routers import CategoryRouter as CategoryRouter
    from localrank.formulas.routers import CentreRouter as CentreRouter
    from localrank.formulas.routers import Description as Description
    from localrank.formulas.routers import LinearRouter as LinearRouter
    from localrank.formulas.routers import Router as Router
    from localrank.formulas.routers import ServiceRouter as ServiceRouter
    from localrank.formulas.simplification import simplified as simplified
    from localrank.formulas.steps import Column as Column
    from localrank.formulas.steps import Linear as Linear
    from localrank.formulas.steps import Net as Net
    from localrank.formulas.steps import OnColumns as OnColumns
    from localrank.formulas.steps import Routed as Routed
    from localrank.formulas.steps import Standardised as Standardised
    from localrank.formulas.steps import TreeSum as TreeSum
    from localrank.formulas.steps import WeightedSum as WeightedSum
else:
    __getattr__, __dir__ = on_use(__name__)
