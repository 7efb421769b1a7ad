"""Application packages of Vespa."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.etree import ElementTree

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.export.base import ExportedModel, Files, GroupTarget
from localrank.export.reading import reading
from localrank.export.vespa.expressions import Expressions, Value
from localrank.export.vespa.rank_profile import RERANK_COUNT, RankProfile
from localrank.export.vespa.tree_models import score_trees

# The version whose published code the tests run.
VERSION = "8.700.24"

_SERVICES = """<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
  </container>
  <content id="content" version="1.0">
    <redundancy>1</redundancy>
    <documents>
      <document type="{name}" mode="index"/>
    </documents>
    <nodes>
      <node hostalias="node1" distribution-key="0"/>
    </nodes>
  </content>
</services>
"""

_GLOBAL_PHASE = f"""
## The global phase

The model is computed in the global phase, in the container, because it looks at the whole list of
hits or needs double precision.

- `rerank-count: {RERANK_COUNT}` must be at least the number of hits of a query. The model does not
  rank hits beyond it, and it computes scales from the best hits of the first phase only.
- `first-phase` chooses these hits. Replace `nativeRank` with your own expression.
- Trees must stay in the expression of the phase. If they are in a function that the global phase
  calls, Vespa {VERSION} mixes up their inputs.
"""
_TREES = """\
Vespa reads `x <= threshold` in LightGBM's files as `x < threshold`. Each threshold here is the next
larger number, so that every document goes the same way. The files are for Vespa only. A document
without an attribute goes where missing values go in localrank.

"""
_TREES_GLOBAL = """\
Containers compute in double precision. Scores differ by the rounding of sums.
"""
_TREES_FIRST = """\
Content nodes may round thresholds and leaves to single precision: they do so in large sums of
trees, and if `vespa.eval.use_fast_forest` is on. Thresholds are numbers of single precision, so
features of single precision always go the same way. Another value may go another way if no number
of single precision lies between it and a threshold. Leaves are rounded.
"""


@declare("vespa", "an application package of Vespa, with a rank profile")
class Vespa(GroupTarget):
    """An application package of Vespa: a schema, a rank profile and files of trees.

    Every split sends every value of single precision where the ranker sends it; in the global
    phase, every value. Scores differ by the rounding of sums. Content nodes may round leaves to
    single precision. The global phase computes min-max scales and rank differences of the query.
    A query names its group with `query(group)`.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> files = Vespa().files(exported_model(RankSVM().fit(dataset), "web"))
    >>> sorted(files)
    ['README.md', 'schemas/web.sd', 'schemas/web/web.profile', 'services.xml']
    """

    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        profile = RankProfile(model.name, model.formula, model.feature_names)
        return {
            "README.md": _readme(model, profile),
            "services.xml": _SERVICES.format(name=model.name),
            f"schemas/{model.name}.sd": _schema(model.name, profile.fields),
            f"schemas/{model.name}/{model.name}.profile": profile.text(),
            **{f"models/{file}": content for file, content in profile.models.items()},
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        return self.group_scores(files, dataset, 0)

    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        """What Vespa computes where every query names a group.

        Parameters
        ----------
        files : mapping
        dataset : RankingDataset
        group : int
            Its number, from 0.
        """
        return _scores(files, dataset, {"group": float(group)})


def _scores(files: Files, dataset: RankingDataset, inputs: Mapping[str, float]) -> Floats:
    """The scores that Vespa computes, given the inputs of the queries by name."""
    with reading(files, "services.xml") as text:
        ElementTree.fromstring(text)
    with reading(files, ".sd") as schema:
        attributes = _attributes(schema.decode(), dataset)
    with reading(files, ".profile") as text:
        profile = text.decode()
        functions = dict(re.findall(r"function (\w+)\(\) {\s*expression: (.*)\n", profile))
        phase = re.findall(r"(?:first|global)-phase {[^}]*?expression: (.*)\n", profile)[-1]

        def trees(file: str) -> Value:
            with reading(files, f"models/{file}") as model:
                return score_trees(
                    model,
                    expressions.function,
                    dataset.n_documents,
                    on_content_node="global-phase" not in profile,
                )

        features = {"attribute": attributes, "query": inputs.__getitem__, "lightgbm": trees}
        expressions = Expressions(functions, dataset, features)
        scores = expressions.value(phase)
    return np.broadcast_to(scores, dataset.n_documents).astype(np.float64)


def _attributes(schema: str, dataset: RankingDataset) -> Callable[[str], Value]:
    """The attributes of documents, in the precision of the schema."""
    fields = re.findall(r"field (\w+) type (double|float) ", schema)
    if len(fields) != dataset.n_features:
        raise ValueError(f"{len(fields)} fields for {dataset.n_features} features")
    numbers = {name: number for number, (name, _) in enumerate(fields)}

    def values(name: str) -> Value:
        kept = np.float32 if fields[numbers[name]][1] == "float" else np.float64
        return dataset.features[:, numbers[name]].astype(kept).astype(np.float64)

    return values


def _schema(name: str, fields: list[str]) -> str:
    lines = [f"schema {name} {{", f"    document {name} {{"]
    for field in fields:
        lines += [f"        field {field} type double {{", "            indexing: attribute"]
        lines.append("        }")
    return "\n".join([*lines, "    }", "}", ""])


def _readme(model: ExportedModel, profile: RankProfile) -> str:
    name = model.name
    lines = [
        f"# {name} for Vespa",
        "",
        "This folder is an application package. `vespa deploy` takes it as it is. To add the model "
        "to your application:",
        "",
        f"- Copy `schemas/{name}/{name}.profile` to `schemas/YOUR_SCHEMA/`."
        + (" Copy `models/` to `models/`." if profile.models else ""),
        f"- Each function `feature_…` of the profile is one feature and reads `attribute(…)`. "
        f"`schemas/{name}.sd` has the fields. If Vespa computes a feature, write its expression "
        "instead, such as `bm25(title)`.",
        "- Fields are of type double, as features are in training. Type float halves their memory "
        "and rounds the features.",
    ]
    query = f"ranking.profile={name}"
    if profile.n_groups:
        query += " 'input.query(group)=NUMBER'"
        lines.append(
            f"- The profile has {profile.n_groups} groups of queries. The client chooses the group "
            "of a query and sends its number, from 0."
        )
    lines += ["", "Query:", "", f"    vespa query 'yql=select * from {name} where true' {query}"]
    if profile.is_global:
        lines += _GLOBAL_PHASE.splitlines()
    lines += ["", "## Exactness", ""]
    if profile.models:
        lines += (_TREES + (_TREES_GLOBAL if profile.is_global else _TREES_FIRST)).splitlines()
    else:
        lines.append("Vespa computes in double precision. Scores differ by the rounding of sums.")
    lines += model.renamed(profile.fields).splitlines()
    lines += ["", f"Written by localrank {model.facts.get('localrank', '')} for Vespa 8; tested "]
    lines[-1] += f"with the published Java code of {VERSION}."
    return "\n".join([*lines, ""])
