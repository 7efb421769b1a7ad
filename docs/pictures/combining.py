"""Several models as one: standardised scores, the six of best, a student of them, and stages."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
from ink import Array, Ink, Picture, dots, panels
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from localrank.data import RankingDataset, make_queries
from localrank.measures import NDCG
from localrank.rankers import Distilled, LambdaMART, NestedRanker, RankBoost, Ranker, RankSVM
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates
from localrank.recipes import best


@cache
def _queries() -> tuple[RankingDataset, RankingDataset]:
    queries, _ = make_queries(110, n_documents=(12, 20), n_features=8, n_types=2, random_state=3)
    return queries.select(np.arange(90)), queries.select(np.arange(90, 110))


@cache
def _best() -> Ranker:
    return best(n_trees=40, min_leaf_documents=20).fit(_queries()[0])


def _standardised(scores: Array) -> Array:
    return (scores - scores.mean(axis=-1, keepdims=True)) / scores.std(axis=-1, keepdims=True)


def ensemble(ink: Ink) -> Figure:
    """One query's documents by the scores of three models, before and after standardising."""
    train, test = _queries()
    models = {"LambdaMART": LambdaMART(40), "RankBoost": RankBoost(60), "RankSVM": RankSVM()}
    shares = [np.mean(test.labels[a:b] > 0) for a, b in pairwise(test.offsets)]
    query = test.select(np.array([np.argmin(np.abs(np.array(shares) - 0.3))]))
    raw = np.array([model.fit(train).predict(query) for model in models.values()])
    figure, (left, right) = panels(2, height=3.1)
    columns = (
        ("Raw scores", raw, [*models]),
        ("Standardised, then averaged", _standardised(raw), [*models, "mean"]),
    )
    shade = query.labels / query.labels.max()
    two_lines = {
        "LambdaMART": "Lambda-\nMART",
        "RankBoost": "Rank-\nBoost",
        "RankSVM": "Rank-\nSVM",
    }
    for panel, (title, scores, names) in zip((left, right), columns, strict=True):
        shown = scores if len(names) == 3 else np.vstack([scores, scores.mean(axis=0)])
        for document, strength in enumerate(shade):
            colour = ink.colours[0] if strength > 0 else ink.muted
            panel.plot(
                shown[:, document],
                color=colour,
                linewidth=1.1 + 1.6 * strength,
                alpha=0.35 + 0.65 * strength,
                marker="o",
                markersize=3.5,
            )
        panel.set(title=title, xticks=np.arange(len(names)), xlim=(-0.3, len(names) - 0.7))
        panel.set_xticklabels([two_lines.get(name, name) for name in names])
    right.set_yticks([-2, 0, 2])
    return figure


def best_six(ink: Ink) -> Figure:
    """One query's documents, standardised, by each of the six models and their mean."""
    _, test = _queries()
    model = _best()
    on_features, in_coordinates = model.rankers_
    trees, regression, nets = on_features.rankers_
    table = query_coordinates(test, "zpab")
    members = [ranker.predict(test) for ranker in (trees, regression)]
    members += [ranker.predict(table) for ranker in in_coordinates.ranker_.rankers_]
    members.append(nets.predict(test))
    mean = model.predict(test)
    slices = [slice(test.offsets[q], test.offsets[q + 1]) for q in range(test.n_queries)]
    alone = np.array([NDCG(10)(test, member) for member in members])
    chosen = int(np.argmax(NDCG(10)(test, mean) - alone.mean(axis=0)))
    rows = slices[chosen]
    order = np.argsort(-mean[rows])
    scores = np.array([_standardised(member[rows])[order] for member in members])
    labels = test.labels[rows][order]

    figure, (axes,) = panels(height=3.9, width=5.8)
    shown = np.vstack([scores, np.full(len(order), np.nan), scores.mean(axis=0)]).T
    edges = np.arange(9) - 0.5, np.arange(len(order) + 1) - 0.5
    axes.pcolormesh(*edges, shown, cmap=_diverging(ink), vmin=-2, vmax=2, edgecolors=ink.ground)
    axes.invert_yaxis()
    for row, label in enumerate(labels):
        axes.text(
            8.0,
            row,
            str(int(label)),
            ha="center",
            va="center_baseline",
            fontweight="bold" if label else "normal",
            color=ink.text if label else ink.muted,
        )
    names = ["LambdaMART", "GBRT", "LambdaMART", "CrossEntropy", "RankSVM", "Nets"]
    axes.set_xlim(-0.5, 8.4)
    axes.set(xticks=[0, 1, 2, 3, 4, 5, 7, 8], yticks=[], ylabel="documents of one query")
    axes.set_xticklabels([*names, "mean", "label"], rotation=28, ha="right", rotation_mode="anchor")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.text(0.5, -0.9, "features", ha="center", va="bottom", fontweight="bold")
    axes.text(3.5, -0.9, "query coordinates", ha="center", va="bottom", fontweight="bold")
    axes.plot([-0.45, 1.45], [-0.7, -0.7], color=ink.muted, linewidth=1.4, clip_on=False)
    axes.plot([1.55, 5.45], [-0.7, -0.7], color=ink.muted, linewidth=1.4, clip_on=False)
    return figure


def _diverging(ink: Ink) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list(
        "diverging", [ink.colours[1], ink.ground, ink.colours[0]]
    )


def one(ink: Ink) -> Figure:
    """The teacher's score of each test document, and the student's."""
    train, test = _queries()
    teacher = _best()
    student = Distilled(teacher).fit(train)
    taught, learned = teacher.predict(test), student.predict(test)
    figure, (axes,) = panels(height=3.3, width=4.8)
    ends = [-2.6, 3.4]
    axes.plot(ends, ends, color=ink.rule, linewidth=1.5)
    relevant = test.labels > 0
    points = np.column_stack([taught, learned])
    dots(axes, points[~relevant], ink.muted, ink, size=12, filled=False, linewidths=0.8)
    dots(axes, points[relevant], ink.colours[0], ink, size=14, linewidths=0)
    axes.set_aspect("equal")
    axes.set(
        xlabel="score of best, six models",
        ylabel="score of one model",
        xticks=[-2, 0, 2],
        yticks=[-2, 0, 2],
    )
    return figure


def nested(ink: Ink) -> Figure:
    """Places of one query's documents after each stage, and the part that a stage ranks again."""
    train, test = _queries()
    by_stage = [NestedRanker(n_stages=n).fit(train).predict(test) for n in (1, 2, 3)]
    first, _, last = (NDCG(10)(test, scores) for scores in by_stage)
    query = int(np.argmax(last - first))
    rows = slice(test.offsets[query], test.offsets[query + 1])
    places = np.array([np.argsort(np.argsort(-scores[rows])) + 1 for scores in by_stage])
    n_documents = places.shape[1]

    figure, (axes,) = panels(height=3.4, width=4.8)
    for stage in (1, 2):
        kept = np.ceil(n_documents / 2**stage) + 0.5
        axes.fill_between([stage, stage + 1], 0.5, kept, color=ink.rule, linewidth=0)
    for document, label in enumerate(test.labels[rows]):
        colour = ink.colours[0] if label > 0 else ink.muted
        width = 1.0 + 0.8 * label
        axes.plot([1, 2, 3], places[:, document], color=colour, linewidth=width, marker="o")
    axes.invert_yaxis()
    axes.set(xticks=[1, 2, 3], yticks=[1, n_documents], ylabel="place in the list")
    axes.set_xticklabels(["all documents", "the top half", "the top quarter"])
    return figure


PICTURES: dict[str, Picture] = {
    "ensemble": ensemble,
    "best": best_six,
    "one": one,
    "nested": nested,
}
