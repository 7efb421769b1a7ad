"""A strict and slow parser of LETOR files, to compare the fast one with."""

import re

import numpy as np

from localrank.data import RankingDataset

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DOCUMENT_ID = re.compile(rb"[ \t\r\v\f]*docid[ \t\r\v\f]*=[ \t\r\v\f]*([^ \t\r\v\f]+)")
FIRST_WORD = re.compile(rb"[ \t\v\f]*([!-\"$-<>-~][!-<>-~]{0,999})(?=[ \t\v\f\r]|$)(?![ \t\v\f]*=)")
QUERY_MARK = re.compile(rb"[ \t\v\f]*qid[ \t\v\f]*[=:]")
QUERY_ID = re.compile(rb"[ \t\v\f]*qid[ \t\v\f]*[=:][ \t\v\f]*([^\x00-\x20#]+)(?=[ \t\r\v\f#]|$)")


def naive_number(token):
    if not NUMBER.fullmatch(token) or abs(float(token)) > 1e100:
        raise ValueError(token)
    return float(token)


def naive_id(token):
    if len(token) > 1000:
        raise ValueError(token)
    return token.decode()


def naive_row(body, max_features, first=1):
    """Label, query id and features of one line, or ValueError."""
    label, qid, *tokens = body.split()
    naive_number(label)
    if not qid.startswith(b"qid:") or qid == b"qid:":
        raise ValueError(body)
    features = {}
    for token in tokens:
        feature, colon, value = token.partition(b":")
        if not colon or not re.fullmatch(rb"[0-9]+", feature) or int(feature) in features:
            raise ValueError(token)
        if not 1 <= int(feature) + 1 - first <= max_features:
            raise ValueError(token)
        missing = value in (b"NULL", b"nan", b"NaN")
        features[int(feature)] = np.nan if missing else naive_number(value)
    return float(label), naive_id(qid[4:]), features


def naive_parse(data, max_features=100_000, first=1, n_features=None, *, may_be_shorter=True):
    """The dataset in a file's bytes, line by line, or ValueError; features count from `first`.

    Its number of features is the largest id, or `n_features`, which ids must not exceed. Unless
    the file may be shorter, the largest id must be there.
    """
    max_features = n_features or max_features
    rows, documents, words = [], [], []
    in_comment = None
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        body, _, comment = line.partition(b"#")
        if b"\0" in line or b"\r" in line.rstrip(b"\r"):
            raise ValueError(line)
        if re.search(rb"[\x00-\x08\x0e-\x1f]", body):
            raise ValueError(line)
        if body.split():
            if in_comment is None:
                # The first document tells where all have their query.
                second = [*body.split(), b""][1]
                in_comment = not second.startswith(b"qid:") and bool(QUERY_MARK.match(comment))
            if in_comment:
                query = QUERY_ID.match(comment)
                label, *tokens = body.split()
                if query is None or (tokens[:1] and tokens[0].startswith(b"qid:")):
                    raise ValueError(line)
                body = b" ".join([label, b"qid:" + query[1], *tokens])
                comment = comment[query.end() :]
            rows.append(naive_row(body, max_features, first))
            match = DOCUMENT_ID.match(comment)
            documents.append(match and naive_id(match[1]))
            word = FIRST_WORD.match(comment)
            words.append(None if match or not word else word[1].decode())
    n_found = max((max(row[2], default=first - 1) for row in rows), default=first - 1) + 1 - first
    if not rows or (n_found == 0 and n_features is None):
        raise ValueError("empty")
    if n_features is not None and n_found < n_features and not may_be_shorter:
        raise ValueError("too few features")
    X = np.zeros((len(rows), n_features or n_found))
    for i, (_, _, features) in enumerate(rows):
        for feature, value in features.items():
            X[i, feature - first] = value
    qids = [qid for _, qid, _ in rows]
    if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", qid) for qid in qids):
        qids = [int(qid) for qid in qids]
    pairs = set(zip(qids, words, strict=True))
    if None not in words and len(pairs) == len(rows):
        documents = words
    return RankingDataset.from_arrays(
        X,
        y=[label for label, _, _ in rows],
        qid=qids,
        document_ids=None if None in documents else documents,
    )
