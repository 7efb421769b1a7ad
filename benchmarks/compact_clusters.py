"""How a cluster of clouds is best represented by one: what `PrincipalComponents.centroid` rests on.

Run with `python benchmarks/compact_clusters.py [COLLECTION ...]`; about a minute. Collections are
read from the folder in LOCALRANK_DATA or from `../shared/data` beside the project. Clusters and
models are those of `local_rank` with SVMMap(1.0); a cluster is chosen for each *validation* query,
by the nearest training query or by a centre of the cluster:

- directions: c_p is the first eigenvector of the mean of u_p u_p^T over the cluster's queries;
  similarity as between queries (equation 5). It is what the package does.
- projector, eq. 5: the first P eigenvectors of the mean of U U^T, which are in no order where
  their eigenvalues are equal, as they are for a single query; similarity as between queries.
- projector, trace: the same eigenvectors C; similarity |C U^T|^2 / P, whatever their order.
- mean, trace: tr(U M U^T) / P with the whole mean projector M.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import collections, sized

from localrank.data import clean, folds
from localrank.evaluation import paired_test
from localrank.experiments import with_validation
from localrank.measures import AveragePrecision
from localrank.rankers import SVMMap
from localrank.recipes import local_rank

NUMBERS = sized((2, 4, 8, 16), (2,))
QUERIES = "nearest query"
MAP = AveragePrecision()


def choices(model: Any, asked: Any) -> dict[str, Any]:
    """The cluster that each rule chooses for queries with these descriptions."""
    known, components = model.selector_.descriptions_, model.selector_.representation_
    n_components = known.shape[1]
    clusters = [known[members] for members in model.groups_]
    directions = np.array([components.centroid(cluster) for cluster in clusters])
    means = np.array(
        [np.einsum("qpi,qpj->ij", cluster, cluster) / len(cluster) for cluster in clusters]
    )
    joint = np.linalg.eigh(means)[1][:, :, ::-1][:, :, :n_components].swapaxes(1, 2)
    return {
        QUERIES: model.groups_.home[model.selector_.nearest(asked)],
        "directions": components.nearest(asked, directions),
        "projector, eq. 5": components.nearest(asked, joint),
        "projector, trace": (np.einsum("tpi,cri->tcpr", asked, joint) ** 2)
        .sum(axis=(2, 3))
        .argmax(axis=1),
        "mean, trace": np.einsum("tpi,cij,tpj->tc", asked, means, asked).argmax(axis=1),
    }


def main() -> None:
    for folder in collections("OHSUMED", "ClueWeb09", "MQ2008"):
        values: dict[tuple[int, str], list[Any]] = {}
        same: dict[tuple[int, str], list[Any]] = {}
        for fold in with_validation(folds(folder)):
            assert fold.valid is not None
            train, valid = clean(fold.train)[0], clean(fold.valid)[0]
            for n in NUMBERS:
                model = local_rank(n, ranker=SVMMap(1.0)).fit(train)
                asked = model.selector_.representation_.transform(valid)
                scored = np.array([MAP(valid, one.predict(valid)) for one in model.models_])
                chosen = choices(model, asked)
                for name, groups in chosen.items():
                    values.setdefault((n, name), []).append(scored[groups, np.arange(len(groups))])
                    same.setdefault((n, name), []).append(groups == chosen[QUERIES])
        print(f"\n{folder.name}\nclusters  chosen by           MAP      difference     p  the same")
        for (n, name), fold_values in values.items():
            mean, agree = np.concatenate(fold_values).mean(), np.concatenate(same[n, name]).mean()
            test = paired_test(np.concatenate(fold_values), np.concatenate(values[n, QUERIES]))
            print(f"{n:8}  {name:18} {mean:.4f}", end="")
            print(
                ""
                if name == QUERIES
                else f"  {test.mean_difference:+13.4f} {test.p:5.2f} {agree:9.2f}"
            )


if __name__ == "__main__":
    main()
