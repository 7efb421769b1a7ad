"""Recipes: functions that return a ready ranker, from the papers and beyond them."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.recipes.blends import query_blend as query_blend
    from localrank.recipes.blends import shared_specific as shared_specific
    from localrank.recipes.engine_views import engine_coordinates as engine_coordinates
    from localrank.recipes.global_models import global_ensemble as global_ensemble
    from localrank.recipes.global_models import global_mixed as global_mixed
    from localrank.recipes.global_models import global_one as global_one
    from localrank.recipes.global_models import quadratic as quadratic
    from localrank.recipes.hybrid_search import hybrid as hybrid
    from localrank.recipes.papers import adaptive_training as adaptive_training
    from localrank.recipes.papers import local_rank as local_rank
    from localrank.recipes.papers import pca_queries as pca_queries
    from localrank.recipes.papers import query_neighbours as query_neighbours
    from localrank.recipes.two_views import best as best
    from localrank.recipes.two_views import fast as fast
    from localrank.recipes.two_views import one as one
    from localrank.recipes.two_views import query_coordinates as query_coordinates
else:
    __getattr__, __dir__ = on_use(__name__)
