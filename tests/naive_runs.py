"""Runs and judgments read and put together by plain loops, for comparison."""

import math
import re

import numpy as np


def read_lines(data, n_columns, number, name, most=math.inf):
    """Rows (query, document, value) of TREC's lines, or the text of the error after the path.

    The first wrong line counts, and what is wrong first in it.
    """
    rows, lines = [], []
    # Lines end at newlines alone.
    for line, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if b"\0" in text:
            return f"{line}: the line has a NUL byte"
        if b"\r" in text.rstrip(b"\r"):
            return f"{line}: the line has a carriage return"
        words = text.split()
        if not words:
            continue
        if len(words) != n_columns:
            return f"{line}: a line must have {n_columns} columns"
        value = as_float(words[number])
        if not abs(value) <= most or math.isinf(value):
            return f"{line}: the {name} must be a finite number"
        ids = []
        for word in (words[0], words[2]):
            try:
                ids.append(plain(word))
            except UnicodeDecodeError:
                return f"{line}: the id {word!r} is not UTF-8"
        rows.append((*ids, value))
        lines.append(line)
    if not rows:
        return " the file has no lines"
    if n_columns == 4 and all(row[1:] == ("0", 0.0) for row in rows):
        return " every line says that document '0' is not relevant. These are SMART's lines"
    seen = {}
    for (query, document, _), line in zip(rows, lines, strict=True):
        if (first := seen.setdefault((query, document), line)) != line:
            return f"{line}: document {document!r} of query {query!r} again; it is in line {first}"
    return rows


def as_float(word):
    try:
        return math.nan if b"_" in word else float(word)
    except ValueError:
        return math.nan


def plain(word):
    if re.search(rb"\\x[0-9a-f]{2}", word):
        try:
            return re.sub(
                rb"\\x([0-9a-f]{2})", lambda mark: bytes.fromhex(mark[1].decode()), word
            ).decode()
        except UnicodeDecodeError:
            pass
    return word.decode()


def align(run, dataset):
    """The score of each document of a dataset in a run, one by one."""
    scored = {
        (str(query), str(document)): score
        for query, document, score in zip(
            run.query_ids.tolist(), run.document_ids.tolist(), run.scores.tolist(), strict=True
        )
    }
    rows = zip(dataset.query_index.tolist(), dataset.document_ids.tolist(), strict=True)
    queries = dataset.query_ids.tolist()
    scores = [scored.get((str(queries[query]), str(document)), -np.inf) for query, document in rows]
    return dataset.in_input_order(np.array(scores))


def pooled(runs, qrels):
    """For each judged query a dict of its documents: the label, and the score of each run."""
    judged = {}
    for query, document, grade in qrels:
        if grade != -1:
            judged.setdefault(query, {})[document] = max(grade, 0.0)
    pool = {query: {} for query in judged}
    for name, run in runs.items():
        for query, document, score in run:
            if query in pool:
                pool[query].setdefault(document, {})[name] = score
    for query, documents in judged.items():
        for document in documents:
            pool[query].setdefault(document, {})
    return {
        query: {
            document: (
                judged[query].get(document, -1.0),
                *(scores.get(name, -np.inf) for name in runs),
            )
            for document, scores in documents.items()
        }
        for query, documents in pool.items()
    }


def n_tied(run, queries):
    """Documents of some queries that share their score with another one of the same query."""
    scores = {}
    for query, _, score in run:
        if query in queries:
            scores.setdefault(query, []).append(score)
    return sum(values.count(value) > 1 for values in scores.values() for value in values)
