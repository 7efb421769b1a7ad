"""The papers' experiments and ours, with published numbers beside our numbers."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.experiments.by_name import EXPERIMENTS as EXPERIMENTS
    from localrank.experiments.by_name import reproduce as reproduce
    from localrank.experiments.local_rank_times import made_up_directions as made_up_directions
    from localrank.experiments.local_rank_times import turned_copies as turned_copies
    from localrank.experiments.published_numbers import published as published
    from localrank.experiments.published_numbers import published_cells as published_cells
    from localrank.experiments.recipe_members import composed as composed
    from localrank.experiments.recipe_members import members as members
    from localrank.experiments.repeated_runs import Pooled as Pooled
    from localrank.experiments.reproduction import Making as Making
    from localrank.experiments.reproduction import Reproduction as Reproduction
    from localrank.experiments.reproduction import difference as difference
    from localrank.experiments.setting import Setting as Setting
    from localrank.experiments.setting import bound_means as bound_means
    from localrank.experiments.setting import chosen as chosen
    from localrank.experiments.setting import mean_of_folds as mean_of_folds
    from localrank.experiments.setting import with_validation as with_validation
    from localrank.experiments.text_collections import read_collection as read_collection
    from localrank.experiments.where_coordinates_pay import with_form as with_form
else:
    __getattr__, __dir__ = on_use(__name__)
