"""Classic text collections: their files, raw features of text, and methods compared on them.

Cranfield, CISI, MED, CACM and NPL, in their original files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.feature_extraction.text import CountVectorizer

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.evaluation import PairedTest, paired_test
from localrank.evaluation.runner import judged_queries
from localrank.evaluation.significance import corrected
from localrank.experiments._searches import (
    Searches,
    Values,
    against,
    joined,
    mean_and_spread,
    text_searches,
)
from localrank.experiments._text_comparison import (
    BEST,
    BM25,
    DEFINITION,
    FAST,
    FEW,
    FIELDS,
    MAP,
    NDCG_10,
    RANK_SVM,
    Results,
    TextComparison,
)
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting
from localrank.text import Analyzer, FeatureExtractor
from localrank.text._file_formats import (
    Records,
    npl_judgments,
    npl_records,
    smart_judgments,
    smart_records,
)
from localrank.text.naming import WHOLE

ENCODING = "latin-1"

# Files of documents, queries and judgments.
TEXT_FILES = {
    "cran": ("cran.all.1400", "cran.qry", "cranqrel"),
    "cisi": ("CISI.ALL", "CISI.QRY", "CISI.REL"),
    "med": ("MED.ALL", "MED.QRY", "MED.REL"),
    "cacm": ("cacm.all", "query.text", "qrels.text"),
    "npl": ("doc-text", "query-text", "rlv-ass"),
}


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Documents, queries, and which documents were judged relevant to which queries.

    Attributes
    ----------
    name : str
    titles, bodies : list of str
        Titles and texts of the documents. An empty text: the document has none.
    queries : list of str
    judgments : ndarray of shape (n_judgments, 3)
        Query, document (positions, from 0) and grade, above 0. Other pairs are not relevant.
    """

    name: str
    titles: list[str]
    bodies: list[str]
    queries: list[str]
    judgments: Integers


def read_collection(folder: Path) -> TextCollection:
    """Read a collection from the folder with its name. Files may be packed as `.gz`.

    Cranfield's codes, from 1 (a complete answer) to 4 (of minimum interest), become the grades 4
    to 1; -1 is not relevant. The other collections have the grade 1 only.
    """
    name = folder.name
    if name not in TEXT_FILES:
        raise ValueError(f"{folder} is none of the text collections {', '.join(TEXT_FILES)}.")
    documents, queries, judgments = (_path(folder / file) for file in TEXT_FILES[name])
    if name == "npl":
        bodies, asked = (_numbered(npl_records(path, ENCODING)) for path in (documents, queries))
        pairs = [(query, document, 1) for _, query, document in npl_judgments(judgments)]
        titles = [""] * len(bodies)
    else:
        records = [record for _, record in smart_records(documents, ENCODING)]
        titles, bodies = ([record.get(key, "") for record in records] for key in ("title", "text"))
        asked = [record.get("text", "") for _, record in smart_records(queries, ENCODING)]
        pairs = [
            (query, document, 1 if name != "cran" else _grade(rest))
            for _, query, document, rest in smart_judgments(judgments)
        ]
    # A few pairs occur twice. The higher grade counts.
    grades: dict[tuple[int, int], int] = {}
    for query, document, grade in pairs:
        pair = int(query), int(document)
        grades[pair] = max(grade, grades.get(pair, 0))
    result = [(q - 1, d - 1, grade) for (q, d), grade in sorted(grades.items()) if grade > 0]
    return TextCollection(name, titles, bodies, asked, np.array(result))


def _path(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.exists() else path


def _numbered(records: Records) -> list[str]:
    """Texts by number. A missing number has the empty text."""
    texts = {int(record["id"]): record["text"] for _, record in records}
    return [texts.get(number, "") for number in range(1, max(texts) + 1)]


def _grade(code: Sequence[str]) -> int:
    return 0 if int(code[0]) < 0 else 5 - int(code[0])


# Parameters of BM25, and of the three smoothings as in LETOR.
K1, B = 1.2, 0.75
PRIOR, SHARE, DISCOUNT = 2000.0, 0.1, 0.7


def raw_features(collection: TextCollection, n_documents: int = 100) -> RankingDataset:
    """The features of each judged query's highest documents by BM25, with grades as labels.

    A document is its title and its body. If both exist, each has its features. Words are
    lower-cased, without English stop words, not stemmed. Documents below the highest are left out,
    also relevant ones. Unjudged documents have the label 0.

    Parameters
    ----------
    collection : TextCollection
    n_documents : int, default=100
        How many documents each query keeps. Among equal ones the first are kept.
    """
    texts = [f"{t} {b}" for t, b in zip(collection.titles, collection.bodies, strict=True)]
    words = CountVectorizer(token_pattern=r"[a-z0-9]+", stop_words="english", dtype=np.float64)
    counts = csr_array(words.fit_transform(texts))
    asked = np.unique(collection.judgments[:, 0])
    queries = csr_array(words.transform([collection.queries[query] for query in asked]))
    terms = (queries > 0).astype(np.float64)
    background, rarity = _background(counts), _rarity(counts)

    fields = {"title": collection.titles, "body": collection.bodies}
    features = {
        f"{name} {feature}": values
        for name, field in fields.items()
        if any(field)
        for feature, values in _field_features(
            terms, csr_array(words.transform(field)), background, rarity
        ).items()
    }
    features["rarity"] = np.repeat((terms @ rarity)[:, None], len(texts), axis=1)
    features["cosine"] = _cosine(queries, counts, rarity)

    bm25 = (terms @ _bm25(counts, rarity).T).toarray()
    highest = np.argsort(-bm25, axis=1, kind="stable")[:, :n_documents]
    labels = np.zeros(bm25.shape)
    query, document, grade = collection.judgments.T
    labels[np.searchsorted(asked, query), document] = grade
    return RankingDataset.from_arrays(
        np.stack([_picked(values, highest) for values in features.values()], axis=1),
        _picked(labels, highest),
        np.repeat(asked + 1, highest.shape[1]),
        document_ids=(highest + 1).ravel().astype(str),
        feature_names=list(features),
    )


def _picked(values: Floats, columns: Integers) -> Floats:
    picked: Floats = np.take_along_axis(values, columns, axis=1).ravel()
    return picked


def _background(counts: csr_array) -> Floats:
    """How likely each word is in the collection."""
    totals = counts.sum(axis=0)
    background: Floats = totals / totals.sum()
    return background


def _rarity(counts: csr_array) -> Floats:
    """Inverse document frequency, above 0."""
    present = (counts > 0).sum(axis=0)
    rarity: Floats = np.log((counts.shape[0] + 1) / (present + 0.5))
    return rarity


def _field_features(
    terms: csr_array, counts: csr_array, background: Floats, rarity: Floats
) -> dict[str, Floats]:
    """Each feature of all queries (rows) and documents (columns), in one field."""
    lengths = counts.sum(axis=1)
    distinct = (counts > 0).sum(axis=1)
    size = terms.sum(axis=1)[:, None]

    def total(function: Callable[[Floats, Integers, Integers], Floats]) -> Floats:
        """Sum over a query's words of a function of counts, documents and words: 0 at count 0."""
        values: Floats = (terms @ _mapped(counts, function).T).toarray()
        return values

    # The logarithm of a smoothed probability has two parts: the weighted background, which every
    # word has, and what the word's count adds. A document without words is background alone.
    words = (terms @ np.log(background))[:, None]
    empty = lengths == 0
    left_over = np.where(empty, 1.0, DISCOUNT * distinct / np.maximum(lengths, 1))
    return {
        "count": total(lambda c, d, w: c),
        "log count": total(lambda c, d, w: np.log1p(c)),
        "count per word": total(lambda c, d, w: c / lengths[d]),
        "count by rarity": total(lambda c, d, w: c * rarity[w]),
        "BM25": (terms @ _bm25(counts, rarity).T).toarray(),
        "Dirichlet": total(lambda c, d, w: np.log1p(c / (PRIOR * background[w])))
        + words
        + size * np.log(PRIOR / (lengths + PRIOR)),
        "Jelinek-Mercer": total(
            lambda c, d, w: np.log1p((1 - SHARE) * c / (lengths[d] * SHARE * background[w]))
        )
        + words
        + size * np.where(empty, 0.0, np.log(SHARE)),
        "absolute discount": total(
            lambda c, d, w: np.log1p((c - DISCOUNT) / (DISCOUNT * distinct[d] * background[w]))
        )
        + words
        + size * np.log(left_over),
        "coverage": total(lambda c, d, w: np.ones_like(c)) / np.maximum(size, 1),
        "length": np.repeat(lengths[None, :], terms.shape[0], axis=0),
    }


def _mapped(
    counts: csr_array, function: Callable[[Floats, Integers, Integers], Floats]
) -> csr_array:
    document = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = function(counts.data, document, counts.indices)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _bm25(counts: csr_array, rarity: Floats) -> csr_array:
    lengths = counts.sum(axis=1)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    return _mapped(counts, lambda c, d, w: rarity[w] * c * (K1 + 1) / (c + norm[d]))


def _cosine(queries: csr_array, counts: csr_array, rarity: Floats) -> Floats:
    """Cosines between the vectors of counts times rarity."""
    left, right = (_unit(matrix @ diags_array(rarity)) for matrix in (queries, counts))
    cosines: Floats = (left @ right.T).toarray()
    return cosines


def _unit(rows: csr_array) -> csr_array:
    norms = np.sqrt((rows**2).sum(axis=1))
    return diags_array(1 / np.where(norms > 0, norms, 1.0)) @ rows


EXPERIMENT = "text-collections"
SEEDS = (0, 1, 2, 3)


def reproduce(setting: Setting) -> Reproduction:
    """From text to rankings: methods compared query by query on text collections of a folder."""
    reproduction = Reproduction(EXPERIMENT, setting.data, claimant="localrank", quick=setting.quick)
    collections = [
        read_collection(setting.folder / name)
        for name in TEXT_FILES
        if (setting.folder / name).is_dir()
    ]
    if len(collections) < 2:
        raise ValueError(
            f"{setting.folder} must hold two text collections or more of {', '.join(TEXT_FILES)}."
        )
    # The words of definitions, such as "is a", are stop words.
    extractor = FeatureExtractor(FIELDS, features=DEFINITION, analyzer=Analyzer(stemmer="english"))
    searches = text_searches(collections, FIELDS, {DEFINITION: extractor})
    experiment = TextComparison(setting, searches)
    parts = experiment.parts()
    _collections(reproduction, searches)
    separate = experiment.results(parts)
    together = experiment.results({"all": joined(parts.values())}, costly=True)
    _methods(reproduction, "Each collection by itself", experiment, separate)
    _methods(reproduction, "One model for all collections", experiment, together)
    _gain(reproduction, experiment, together, separate)
    _judged(reproduction, experiment, separate)
    _definitions(reproduction, experiment, together)
    return reproduction


def _collections(reproduction: Reproduction, searches: Searches) -> None:
    data, found = searches.judged, searches.is_candidate
    relevant = data.labels > 0
    n_relevant, n_found = (
        np.bincount(data.query_index[rows], minlength=data.n_queries)
        for rows in (relevant, relevant & found)
    )
    best_order = NDCG_10(judged_queries(data), np.where(found, data.labels, -np.inf))
    rows: list[list[Value]] = []
    for name, n_documents in searches.sizes.items():
        queries = searches.categories == name
        documents = queries[data.query_index]
        rows.append(
            [
                name,
                n_documents,
                int(queries.sum()),
                int(relevant[documents].sum()),
                len(np.unique(data.labels[documents & relevant])),
                int(found[documents].sum()),
                float((n_found[queries] / n_relevant[queries]).mean()),
                float(np.nanmean(best_order[queries])),
            ]
        )
    reproduction.table(
        "What is ranked",
        [
            *("collection", "documents", "queries", "relevant", "grades", "candidates"),
            *("recall", "bound"),
        ],
        rows,
        "Words are lower-cased, without English stop words, stemmed. Candidates are the 100 "
        "documents with the highest BM25 over title and body, or fewer if fewer have a word of "
        "the query. Features are all of the page Features of text, for title, body and both; "
        "collections without titles have zeros. The files list relevant documents only, so a "
        "document that is not listed counts as not relevant. A relevant document that is not a "
        "candidate counts as missed, so values are those of a whole search. Recall: the mean over "
        "queries of the share of relevant documents among the candidates. Bound: NDCG@10 of the "
        "candidates in the best order. The queries of each collection are cut at random into five "
        "parts, which rotate as LETOR's do: three train, one validates, one tests. Nothing is "
        "tuned. With one grade, multiple hyperplanes are RankSVM.",
    )


def _methods(
    reproduction: Reproduction, title: str, experiment: TextComparison, results: Results
) -> None:
    """Means by collection, and differences to BM25 over all queries and by collection."""
    searches = experiment.searches
    for measure in (NDCG_10, MAP):
        values = experiment.values(results, measure)
        tests = against(values, BM25)
        rows: list[list[Value]] = []
        for name, of_method in values.items():
            test = tests.get(name)
            cells = difference_cells(test) if test else (None, None, None)
            by_collection = [
                float(np.nanmean(of_method[..., searches.categories == one]))
                for one in searches.sizes
            ]
            rows.append([name, *by_collection, *mean_and_spread(of_method), *cells])
        columns = ["method", *searches.sizes, "all queries", "spread"]
        reproduction.table(
            f"{title}: {measure}",
            [*columns, "difference", "p", "won/tied/lost"],
            rows,
            f"The difference is that to BM25 over all queries. {_family(experiment, tests)}",
        )
        if measure == NDCG_10:
            reproduction.figure(
                title.replace(" ", "-"),
                f"{title}: {measure}.",
                "bars",
                panels={reproduction.data: {str(row[0]): list(row[1:-4]) for row in rows}},
                ticks=[*searches.sizes, "all queries"],
                y_label=str(measure),
                numbers="%.3f",
            )
            _by_collection(reproduction, title, searches, values)
            for name in (FAST, BEST):
                if name in tests:
                    says = f"{name} ranks better than BM25: {title[0].lower()}{title[1:]}"
                    reproduction.claim_better(says, f"{measure}", tests[name])


def _family(experiment: TextComparison, tests: Sized) -> str:
    """What the tests of a table cover."""
    return (
        f"What is random is trained {len(experiment.setting.seeds)} times with other seeds: "
        f"values are means, a spread is the standard deviation between trainings, and tests cover "
        f"the chance of queries and of training. p is by paired t-tests, corrected by Holm's rule "
        f"for the {len(tests)} tests of this table."
    )


def _by_collection(
    reproduction: Reproduction, title: str, searches: Searches, values: Values
) -> None:
    tests = corrected(
        {
            (name, one): paired_test(
                *(part[..., searches.categories == one] for part in (of_method, values[BM25]))
            )
            for name, of_method in values.items()
            if name != BM25
            for one in searches.sizes
        }
    )
    rows: list[list[Value]] = [
        [name, *(_short(tests[name, one]) for one in searches.sizes)]
        for name in values
        if name != BM25
    ]
    reproduction.table(
        f"{title}: ndcg@10 less BM25, by collection",
        ["method", *searches.sizes],
        rows,
        f"With half of the 95 % interval. A star: established, after Holm's correction for the "
        f"{len(tests)} cells.",
    )


def _short(test: PairedTest) -> str:
    half = (test.interval[1] - test.interval[0]) / 2
    return f"{test.mean_difference:+.3f} ± {half:.3f}{' *' * abs(test.sign)}"


def _gain(
    reproduction: Reproduction, experiment: TextComparison, together: Results, separate: Results
) -> None:
    """One model for all collections against one for each."""
    ours, other = (experiment.values(part, NDCG_10) for part in (together, separate))
    tests = corrected(
        {name: paired_test(ours[name], other[name]) for name in other if name != BM25}
    )
    reproduction.table(
        "One model for all collections, less one for each: ndcg@10",
        ["method", "difference", "p", "won/tied/lost"],
        [[name, *difference_cells(test)] for name, test in tests.items()],
        _family(experiment, tests),
    )
    for name in (RANK_SVM, FAST):
        says = f"{name} ranks better if it learns from all collections than from one"
        reproduction.claim_better(says, "ndcg@10", tests[name])


def _judged(reproduction: Reproduction, experiment: TextComparison, without: Results) -> None:
    """Relevant documents that were not found are added to the training lists."""
    results = experiment.results(experiment.parts(with_judged=True), names=FEW)
    seeming, real, plain = (
        experiment.values(results, NDCG_10, everything=True),
        experiment.values(results, NDCG_10),
        experiment.values({name: without[name] for name in FEW}, NDCG_10),
    )
    tests = corrected({name: paired_test(plain[name], real[name]) for name in FEW})
    reproduction.table(
        "Trained with judged documents among the candidates: ndcg@10",
        [
            *("method", "with them, of lists with them", "with them, of candidates"),
            *("without them, of candidates", "difference", "p", "won/tied/lost"),
        ],
        [
            [
                name,
                *(mean_and_spread(part[name])[0] for part in (seeming, real, plain)),
                *difference_cells(test),
            ]
            for name, test in tests.items()
        ],
        f"Relevant documents that BM25 did not find are added to the lists. All of these are "
        f"relevant and have a low BM25, so a model learns that a low BM25 means relevant. Values "
        f"of lists with them are not those of a search. The difference is that of the last two "
        f"columns. One model for each collection. {_family(experiment, tests)}",
    )
    reproduction.claim(
        "a model that learned from judged documents among the candidates ranks the candidates of "
        "a search worse than one that did not",
        "; ".join(f"{name} {difference(test)}" for name, test in tests.items()),
        *tests.values(),
    )


def _definitions(reproduction: Reproduction, experiment: TextComparison, without: Results) -> None:
    """The features of definition search, added to all others."""
    searches = experiment.searches
    parts = {"all": joined(experiment.parts().values())}
    results = experiment.results(parts, names=FEW, columns=DEFINITION)
    ours, plain = (
        experiment.values(part, NDCG_10)
        for part in (results, {name: without[name] for name in FEW})
    )
    tests = corrected({name: paired_test(ours[name], plain[name]) for name in FEW})
    data = searches.candidates
    names = list(data.feature_names or ())
    shares = [
        f"{name.rpartition('.')[2]} {float((data.features[:, names.index(name)] > 0).mean()):.4f}"
        for name in names
        if name.startswith((f"{DEFINITION} {WHOLE}.query_", f"{DEFINITION} {WHOLE}.negative_"))
    ]
    reproduction.table(
        "With the features of definition search: ndcg@10",
        ["method", "with them", "without", "difference", "p", "won/tied/lost"],
        [
            [
                name,
                *(mean_and_spread(part[name])[0] for part in (ours, plain)),
                *difference_cells(test),
            ]
            for name, test in tests.items()
        ],
        f"The set `definition` of the page Features of text (Table 2 of the paper on multiple "
        f"hyperplanes), added to all other features, one model for all collections. The queries "
        f"here are sentences, not terms to define. Share of the candidates in which a feature is "
        f"not 0: {', '.join(shares)}. {_family(experiment, tests)}",
    )
    reproduction.claim(
        "features of definition search improve the ranking of these collections, whose queries "
        "are no terms to define",
        "; ".join(f"{name} {difference(test)}" for name, test in tests.items()),
        *tests.values(),
    )
