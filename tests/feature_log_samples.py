"""Responses in the shapes in which search engines send them, with made-up documents."""

import json
import math


def elasticsearch(features, log="log_entry1"):
    """A response; features by document, None or NaN for a feature that did not match."""
    hits = [
        {
            "_index": "tmdb",
            "_id": document,
            "_score": 0.0,
            "_source": {"title": "First Blood", "sku": f"sku-{document}"},
            "fields": {"_ltrlog": [{log: [_entry(*pair) for pair in values.items()]}]},
            "matched_queries": ["logged_featureset"],
        }
        for document, values in features.items()
    ]
    return {
        "took": 2,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(hits), "relation": "eq"}, "max_score": 0.0, "hits": hits},
    }


def solr(features, sparse=False, field="[features]", **params):
    """A response; in a sparse one features that are 0 are left out."""
    docs = [
        {
            "id": document,
            "title": "First Blood",
            field: ",".join(
                f"{name}={_java(value)}" for name, value in values.items() if value or not sparse
            ),
        }
        for document, values in features.items()
    ]
    return {
        "responseHeader": {"status": 0, "QTime": 3, "params": {"q": "rambo", **params}},
        "response": {"numFound": len(docs), "start": 0, "numFoundExact": True, "docs": docs},
    }


def vespa(features, field="matchfeatures"):
    """A result; None for a value that is no number."""
    children = [
        {
            "id": f"index:tmdb/0/{document}",
            "relevance": 1.0,
            "source": "tmdb",
            "fields": {
                field: values,
                "sddocname": "movie",
                "documentid": f"id:tmdb:movie::{document}",
            },
        }
        for document, values in features.items()
    ]
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": len(children)}}
    return {"root": root | ({"children": children} if children else {})}


def written(path, *records):
    """A file with one record on each line."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def logged(path, make, lists, **options):
    """A log of the responses to several queries: features by query and document."""
    records = [
        {"qid": qid, "response": make(documents, **options)} for qid, documents in lists.items()
    ]
    return written(path, *records)


def _entry(name, value):
    missing = value is None or math.isnan(value)
    return {"name": name} if missing else {"name": name, "value": value}


def _java(value):
    if math.isnan(value):
        return "NaN"
    mantissa, exponent = f"{value:e}".split("e")
    power = int(exponent)
    return repr(float(value)) if -3 <= power < 7 or value == 0 else f"{float(mantissa)}E{power}"
