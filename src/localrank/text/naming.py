"""The names of the features of a query and a document."""

from __future__ import annotations

from collections.abc import Sequence

from localrank._base.names import unknown

_FIVE = ("sum", "min", "max", "mean", "variance")

# Columns of the table that `stream_features` fills, in this order.
FROM_COUNTS = (
    "covered",
    "covered_ratio",
    "length",
    *(f"idf_{statistic}" for statistic in _FIVE),
    *(f"tf_{statistic}" for statistic in _FIVE),
    *(f"ntf_{statistic}" for statistic in _FIVE),
    *(f"tfidf_{statistic}" for statistic in _FIVE),
    "boolean",
    "cosine",
    "bm25",
    "lm_abs",
    "lm_dir",
    "lm_jm",
    "log_tf",
    "log_icf",
    "log_ntf_idf",
    "log_ntf",
    "log_ntf_icf",
    "log_idf",
    "log_bm25",
)
# Features that need the words of documents in their order.
PROXIMITY = ("window", "pairs")
# Features of definition search that need these words, too, and the number of sentences.
DEFINITION = ("query_first", "negative_words", "query_again", "query_is")
SENTENCES = "sentences"
STREAM_FEATURES = (*FROM_COUNTS, *PROXIMITY, *DEFINITION, SENTENCES)
# Features of the query as it was written.
AS_WRITTEN = ("query_article", "query_capitals", "query_pronoun", "query_joined")
QUERY_FEATURES = ("query_length", *AS_WRITTEN)

SETS: dict[str, tuple[str, ...]] = {
    # In the order of Microsoft's data sets, numbers 1 to 125.
    "letor": (
        "covered",
        "covered_ratio",
        "length",
        "idf_sum",
        *(name for name in FROM_COUNTS if name.startswith(("tf_", "ntf_", "tfidf_"))),
        "boolean",
        "cosine",
        "bm25",
        "lm_abs",
        "lm_dir",
        "lm_jm",
    ),
    # In the order of the paper's Table 1.
    "mhr": tuple(name for name in FROM_COUNTS if name.startswith("log_")),
    # In the order of the paper's Table 2.
    "definition": (
        "query_first",
        "query_article",
        "query_capitals",
        "negative_words",
        "query_pronoun",
        "query_joined",
        "query_again",
        "query_is",
        SENTENCES,
        "length",
    ),
    # Not those of definition search, which need stop words.
    "all": (*FROM_COUNTS, *PROXIMITY, "query_length"),
}
# The stream of all fields as one text.
WHOLE = "whole"


def feature_names(
    features: str | Sequence[str], fields: Sequence[str], columns: Sequence[str] = ()
) -> tuple[str, ...]:
    """The names of all columns, in order.

    A feature of a field is named "field.feature". If there are several fields, a feature of all
    fields together is named "whole.feature". As in LETOR's files, the columns of one feature stand
    together: the fields in their order, then the whole. Features of the query alone come next, and
    the columns of documents last.

    Parameters
    ----------
    features : "letor", "mhr", "definition", "all", or a sequence of names
        Names of sets or features. A name in a sequence is a set, a feature of all fields and the
        whole ("bm25"), or a feature of one of them ("title.bm25").
    fields : sequence of str
    columns : sequence of str

    Examples
    --------
    >>> feature_names(["bm25", "title.length", "query_length"], ["title", "body"], ["pagerank"])
    ('title.bm25', 'body.bm25', 'whole.bm25', 'title.length', 'query_length', 'pagerank')
    >>> len(feature_names("letor", ["title", "body"])), len(feature_names("mhr", ["text"]))
    (75, 7)
    """
    streams = stream_names(fields)
    names = [features] if isinstance(features, str) else list(features)
    ordered: list[str] = []
    of_query: list[str] = []
    for name in names:
        for feature in SETS.get(name, (name,)):
            stream, dot, rest = feature.rpartition(".")
            if feature in QUERY_FEATURES:
                of_query.append(feature)
            elif feature in STREAM_FEATURES:
                ordered += [f"{stream}.{feature}" for stream in streams]
            elif dot and rest in STREAM_FEATURES and stream in streams:
                ordered.append(feature)
            elif dot and rest in STREAM_FEATURES:
                raise unknown("There is no field", stream, streams)
            else:
                known = [*SETS, *STREAM_FEATURES, *QUERY_FEATURES]
                raise unknown("There is no feature", name, known)
    return tuple(dict.fromkeys([*ordered, *of_query, *columns]))


def stream_names(fields: Sequence[str]) -> tuple[str, ...]:
    """The names of the fields, and of the whole if there are several fields."""
    return (*fields, WHOLE) if len(fields) > 1 else tuple(fields)
