"""Models in files: one file per model, checked on reading, and reading runs no code."""

from localrank.persistence.encoding import rank_example as rank_example
from localrank.persistence.files import is_model as is_model
from localrank.persistence.files import library_versions as library_versions
from localrank.persistence.files import load as load
from localrank.persistence.files import load_ranker as load_ranker
from localrank.persistence.files import load_ranker_and_texts as load_ranker_and_texts
from localrank.persistence.files import read_manifest as read_manifest
from localrank.persistence.files import save_model as save_model
from localrank.persistence.keeping import kept_models as kept_models
