"""Boosted trees of any library as arrays: read, written, joined and scored."""

from localrank.trees.catboost_json import read_catboost_json as read_catboost_json
from localrank.trees.lightgbm_text import read_lightgbm_classes as read_lightgbm_classes
from localrank.trees.lightgbm_text import read_lightgbm_text as read_lightgbm_text
from localrank.trees.lightgbm_text import write_lightgbm_text as write_lightgbm_text
from localrank.trees.nested import Leaf as Leaf
from localrank.trees.nested import Split as Split
from localrank.trees.nested import joined as joined
from localrank.trees.nested import nested as nested
from localrank.trees.trees import Trees as Trees
