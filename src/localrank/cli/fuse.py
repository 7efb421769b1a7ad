"""`localrank fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli.features import EXTRACTOR

if TYPE_CHECKING:
    from localrank._base.arrays import Floats
    from localrank.data import Qrels, RankingDataset, Run, Vectors
    from localrank.measures import Measure
    from localrank.text import FeatureExtractor

# The method that others are tested against: what one has without any judgment.
BASELINE = "average"


def fuse(
    lists: list[Path] = typer.Argument(
        help="Lists of several retrievers: TREC runs, JSON or tables. Each is called like its file."
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="Folder for the fused run and the model. It is made if needed."
    ),
    qrels: Path | None = typer.Option(
        None, help="Judgments to learn from. Without them, the lists are averaged."
    ),
    method: str = typer.Option(
        "hybrid", help="Method to train. `localrank methods` lists them all."
    ),
    corpus: Path | None = typer.Option(
        None,
        help="Texts of the documents: JSON lines, CSV, TSV, TREC. With --queries, features of the "
        "texts stand beside the columns of the lists.",
    ),
    queries: Path | None = typer.Option(
        None, help="Texts of the queries, one on each line: an id, a tab, the text; or JSON lines."
    ),
    fields: str = typer.Option(
        "",
        help="Keys of a document's texts, separated by commas, for example title,body. By "
        "default, all keys of texts in the first document.",
    ),
    vectors: Path | None = typer.Option(
        None,
        help="Vectors of the documents: .npy, .npz, .parquet or .jsonl. A .npy without a file of "
        "ids beside it must have one row for each document of --corpus, in order.",
    ),
    query_vectors: Path | None = typer.Option(
        None, help="Vectors of the queries, in the same formats, or in the order of --queries."
    ),
    encoder: Path | None = typer.Option(
        None,
        help="Folder of an encoder, which makes the vectors of the documents in the lists from "
        "their texts in --corpus.",
    ),
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Set a parameter of the method. May be repeated."
    ),
    measures: str = typer.Option("ndcg@10,map", help="Measures to report, separated by commas."),
    n_folds: int = typer.Option(
        5, min=0, help="Folds of the test, which takes most of the time. 0: no test."
    ),
    depth: int = typer.Option(
        0, min=0, help="At most this many documents for each query of the fused run. 0: all."
    ),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    with_table: bool = typer.Option(
        False,
        "--table",
        help="Also write lists.parquet: the columns and vectors of all documents, which explain, "
        "rank and other commands read.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Fuse the lists of several retrievers: learn from judged queries, test, write a run.

    Learns from the queries that --qrels judges, and writes fused.trec for all queries of the lists
    and model.localrank into the output folder. Tests the method, the lists alone and simple
    fusions by cross-validation on the judged queries.

    With --corpus and --queries, methods that learn from all columns also see features of the
    texts. extractor.localrank, which makes them, is then written, too.

    Example: localrank fuse bm25.trec dense.trec --qrels qrels.txt -o fused/
    """
    from localrank.cli._inputs import parse_measures, save_model
    from localrank.cli._tables import print_json, say
    from localrank.data import as_qrels, as_runs, write_table
    from localrank.evaluation import per_query_weights
    from localrank.fusion import Fusion, SmoothedFusion, lists_dataset
    from localrank.registry import make_ranker

    if len(lists) < 2:
        raise ValueError(f"Give two lists or more to fuse. Got {lists[0]} alone.")
    _check_texts(corpus, queries, fields, vectors, encoder)
    wanted = parse_measures(measures)
    ranker = make_ranker(method, setting, n_jobs, seed)
    _make_folder(output)
    runs = as_runs(lists)
    known = None if qrels is None else as_qrels(qrels)
    texts = _Texts.read(corpus, queries, fields)
    known_vectors = {
        "vectors": texts.vectors(vectors, encoder, runs),
        "query_vectors": _vectors(query_vectors, list(texts.queries), "queries"),
    }
    everything = lists_dataset(runs, **known_vectors)
    judged = None if known is None else lists_dataset(runs, known, **known_vectors)
    say(
        f"{len(runs)} lists ({', '.join(runs)}): {everything.n_queries:,} queries "
        f"({0 if judged is None else judged.n_queries:,} judged), "
        f"{everything.n_documents:,} documents"
    )
    for name, run in runs.items():
        if lacking := everything.n_queries - len(set(map(str, run.query_ids.tolist()))):
            say(f"{name} has no document for {lacking:,} of {everything.n_queries:,} queries.")
    if known_vectors["vectors"] is not None:
        say(f"Vectors of the documents: {known_vectors['vectors'].n_dimensions:,} numbers each")
    extractor = texts.extractor()
    if extractor is not None:
        say(
            f"{len(extractor.feature_names):,} features of the texts under "
            f"{', '.join(texts.fields)}, of {extractor.n_documents:,} documents"
        )
        everything = extractor.added_to(everything, texts.queries)
        judged = None if judged is None else extractor.added_to(judged, texts.queries)
    result: dict[str, Any] = {"method": method, "lists": list(runs)}
    if known is not None and judged is not None and _testable(judged, n_folds):
        methods = {**_simple(judged), method: ranker}
        fused = _cross_validated(methods, judged, n_folds, seed)
        result |= _tested({**runs, **fused}, judged, known, wanted, set(fused))
        by_query = per_query_weights(judged, wanted[0], random_state=seed)
        result["per_query_weights"] = {
            "measure": str(by_query.measure),
            "one": float(by_query.one.mean()),
            "best": float(by_query.values.mean()),
            "control": float(by_query.control.mean()),
            "p": by_query.test.p,
        }
        if not as_json:
            _print_test(result, wanted, method, n_folds)
            say(f"Would a weight for each query help? {by_query.sentence}")
    ranker.fit(everything if judged is None else judged)
    choice = getattr(ranker, "choice_", None)
    result |= {
        "choice": choice,
        "run": str(output / "fused.trec"),
        "model": str(output / "model.localrank"),
    }
    save_model(ranker, output / "model.localrank")
    if extractor is not None:
        save_model(extractor, output / EXTRACTOR)
        result["extractor"] = str(output / EXTRACTOR)
    if with_table:
        result["table"] = str(output / "lists.parquet")
        write_table(everything, result["table"])
    _write(everything, ranker.predict(everything), output / "fused.trec", depth)
    if as_json:
        print_json(result)
        return
    if choice is not None:
        say(choice)
    if isinstance(ranker, Fusion | SmoothedFusion):
        pairs = zip(runs, ranker.weights_, strict=True)
        say(f"Weights: {', '.join(f'{name} {weight:.2f}' for name, weight in pairs)}")
    written = [f"{result['run']} ({everything.n_queries:,} queries)"]
    written += [result[name] for name in ("model", "extractor", "table") if name in result]
    say(f"Wrote {', '.join(written[:-1])} and {written[-1]}")
    if judged is not None:
        say(f"The model has seen the judgments: do not measure {result['run']} by them.")


@dataclass(frozen=True)
class _Texts:
    """The texts of documents and queries, either of which may be lacking.

    Attributes
    ----------
    corpus : list of dict or None
    queries : dict
        Texts by id. Empty: there are none.
    fields : list of str
        Keys of the documents' texts.
    """

    corpus: list[dict[str, Any]] | None
    queries: dict[str, str]
    fields: list[str]

    @classmethod
    def read(cls, corpus: Path | None, queries: Path | None, fields: str) -> _Texts:
        from localrank.cli._inputs import column_names
        from localrank.text import read_corpus, read_queries

        documents = None if corpus is None else list(read_corpus(corpus))
        names = column_names(fields)
        if documents is not None and not names:
            first = documents[0]
            names = [name for name, value in first.items() if name != "id" and type(value) is str]
            if not names:
                raise ValueError(
                    f"{corpus}: the first document has no text. It has "
                    f"{', '.join(map(repr, first))}. Name the keys of texts with --fields."
                )
        return cls(documents, {} if queries is None else read_queries(queries), names)

    def vectors(
        self, path: Path | None, encoder: Path | None, runs: Mapping[str, Run]
    ) -> Vectors | None:
        """The vectors of documents: from a file, or of their texts."""
        if self.corpus is None:
            return _vectors(path, [], "documents")
        if encoder is None:
            ids = [document["id"] for document in self.corpus] if path is not None else []
            return _vectors(path, ids, "documents")
        from localrank.data import Vectors
        from localrank.text import load_encoder

        encode = load_encoder(encoder)
        wanted = {str(name) for run in runs.values() for name in run.document_ids.tolist()}
        texts = {
            document["id"]: "\n".join(str(document.get(name) or "") for name in self.fields)
            for document in self.corpus
            if document["id"] in wanted
        }
        if not texts:
            raise ValueError(
                f"No document of the lists is in the corpus. One of the lists is "
                f"{min(wanted)!r}, the first of the corpus {self.corpus[0]['id']!r}."
            )
        return Vectors.of((list(texts), encode(list(texts.values()))))

    def extractor(self) -> FeatureExtractor | None:
        """What makes features of texts. None: texts are lacking."""
        from localrank.text import FeatureExtractor

        if self.corpus is None or not self.queries:
            return None
        return FeatureExtractor(self.fields).fit(self.corpus)


def _check_texts(
    corpus: Path | None,
    queries: Path | None,
    fields: str,
    vectors: Path | None,
    encoder: Path | None,
) -> None:
    """Refuse options that say nothing together, before anything is read."""
    if corpus is None:
        for option, given in {
            "--queries": queries, "--fields": fields, "--encoder": encoder
        }.items():  # fmt: skip
            if given:
                raise ValueError(f"{option} needs --corpus, the texts of the documents.")
    elif queries is None and encoder is None and vectors is None:
        raise ValueError(
            "--corpus needs --queries, for features of texts, or --encoder, for vectors."
        )
    if encoder is not None and vectors is not None:
        raise ValueError("--vectors and --encoder both give the documents vectors: leave out one.")


def _vectors(path: Path | None, ids: Sequence[str], what: str) -> Vectors | None:
    """The vectors of a file. One of rows without ids has those of the texts, in their order."""
    from localrank.data import Vectors, read_vectors
    from localrank.data.vector_files import files_of_ids

    if path is None:
        return None
    vectors = read_vectors(path)
    if not ids or path.suffix.lower() != ".npy" or files_of_ids(path):
        return vectors
    if len(vectors) != len(ids):
        raise ValueError(
            f"{path} has {len(vectors):,} vectors and no file of ids beside it, and there are "
            f"{len(ids):,} {what} with texts. Without ids, there must be one for each, in order."
        )
    return Vectors.of((ids, vectors.values))


def _make_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file. Give the name of a folder.")
    path.mkdir(parents=True, exist_ok=True)


def _testable(dataset: RankingDataset, n_folds: int) -> bool:
    """Whether there are queries enough for the test. Says so if there are not."""
    from localrank.cli._tables import say

    if n_folds < 2:
        return False
    if dataset.n_queries < 2 * n_folds:
        say(
            f"A test by {n_folds} folds needs {2 * n_folds} judged queries, "
            f"not {dataset.n_queries:,}."
        )
        return False
    return True


def _simple(dataset: RankingDataset) -> dict[str, Any]:
    """Fusions with few tuned numbers, or none, which the method is compared with."""
    from localrank.fusion import Fusion, ReciprocalRankFusion, SmoothedFusion

    methods: dict[str, Any] = {
        "reciprocal rank fusion": ReciprocalRankFusion(),
        BASELINE: Fusion("equal"),
        "tuned weights": Fusion(),
    }
    if dataset.has_vectors:
        methods["smoothed fusion"] = SmoothedFusion()
    return methods


def _cross_validated(
    methods: Mapping[str, Any], dataset: RankingDataset, n_folds: int, seed: int
) -> dict[str, Run]:
    """The list of each method for each judged query, by a model that has not seen the query."""
    import numpy as np

    from localrank._base.estimator import clone
    from localrank._base.progress import progress
    from localrank.data import Run, folds

    parts: dict[str, list[Any]] = {name: [] for name in methods}
    with progress("Test", n_folds * len(methods)) as advance:
        for fold in folds(dataset, n_folds, validation=False, random_state=seed):
            test = fold.test
            ids = test.query_ids[test.query_index], test.document_ids
            for name, ranker in methods.items():
                scores = clone(ranker).fit(fold.train).predict(test)
                parts[name].append((*ids, test.in_query_order(scores)))
                advance()
    runs = {}
    for name, pieces in parts.items():
        queries, documents, values = map(np.concatenate, zip(*pieces, strict=True))
        runs[name] = Run(queries, documents, values, name)
    return runs


def _tested(
    runs: Mapping[str, Run],
    judged: RankingDataset,
    qrels: Qrels,
    measures: Sequence[Measure],
    fused: set[str],
) -> dict[str, Any]:
    """Means of each list and method on the judged queries, and tests against the average.

    Every relevant document counts, also one that no list has.
    """
    import warnings

    from localrank.data import pooled
    from localrank.evaluation import paired_tests
    from localrank.measures import evaluate
    from localrank.measures.base import mean_of_queries

    with warnings.catch_warnings():
        # Two methods may give the same list.
        warnings.filterwarnings("ignore", "The runs .* are the same")
        together = pooled(runs, qrels)
    values = {
        name: dict(
            zip(measures, evaluate(together.dataset, scores, measures).values(), strict=True)
        )
        for name, scores in together.scores.items()
    }
    means = {
        name: {str(measure): mean_of_queries(of) for measure, of in by_measure.items()}
        for name, by_measure in values.items()
    }
    tests = {}
    for measure in measures:
        others: dict[str, Floats] = {
            name: by_measure[measure]
            for name, by_measure in values.items()
            if name in fused and name != BASELINE
        }
        sign = 1.0 if measure.higher_is_better else -1.0
        by_name = paired_tests(
            {name: sign * of for name, of in others.items()}, sign * values[BASELINE][measure]
        )
        tests[str(measure)] = {
            name: {"difference": sign * test.mean_difference, "p": test.corrected_p_value}
            for name, test in by_name.items()
        }
    n_judged = int((together.dataset.labels >= 0).sum())
    return {
        "n_judged_queries": together.dataset.n_queries,
        "n_judged_documents": n_judged,
        "means": means,
        "tests": tests,
    }


def _print_test(
    result: Mapping[str, Any], measures: Sequence[Measure], method: str, n_folds: int
) -> None:
    from localrank.cli._tables import print_table, say
    from localrank.evaluation.significance import p_text

    rows = []
    for name, means in result["means"].items():
        row = [name]
        for measure in map(str, measures):
            row.append(f"{means[measure]:.4f}")
            test = result["tests"][measure].get(name)
            row.append("" if test is None else f"{test['difference']:+.4f}")
            row.append("" if test is None else p_text(test["p"]))
        rows.append(row)
    columns = [text for measure in measures for text in (str(measure), "gain", "p")]
    print_table(
        f"{result['n_judged_queries']:,} judged queries, {n_folds}-fold cross-validation",
        ["list or method", *columns],
        rows,
    )
    say(
        f"gain and p: against the average, by a paired t-test, p corrected for the number of "
        f"methods (Holm). The average needs no judgments. Relevant documents that no list has "
        f"count, too. {method} is trained anew on all judged queries."
    )


def _write(dataset: RankingDataset, scores: Floats, path: Path, depth: int) -> None:
    """Write the fused run, cut at a depth."""
    import numpy as np

    from localrank._kernels.sorting import argsort_descending
    from localrank.data import write_run
    from localrank.data._offsets import offsets_of

    if depth:
        order = argsort_descending(scores, dataset.offsets)
        places = np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]
        rows = np.sort(order[places < depth])
        sizes = np.minimum(dataset.query_sizes, depth)
        dataset = dataset.with_rows(rows, offsets_of(sizes), np.arange(dataset.n_queries))
        scores = scores[rows]
    write_run(dataset, scores, path, tag="fused")
