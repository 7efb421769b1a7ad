"""Responses of Elasticsearch and OpenSearch with the `_ltrlog` of the learning-to-rank plugin."""

from __future__ import annotations

from typing import Any

from localrank.data.feature_logs._values import Documents, as_id, shortened

# Entries of this name are not features: rankers add notes about themselves.
_EXTRA = "extra_logging"


def recognised(body: dict[str, Any]) -> bool:
    """Whether a response is of this shape."""
    return "hits" in body


def documents(body: dict[str, Any], log: str | None, document_id: str | None) -> Documents:
    """The hits of a response: document id, names and values of its logged features.

    A hit has `fields._ltrlog[0]`, which has a list of features for each log. A feature with a value
    is `{"name": ..., "value": ...}`, a feature without one is `{"name": ...}`.

    Examples
    --------
    >>> log = [{"name": "title", "value": 9.5}, {"name": "body"}]
    >>> hit = {"_id": "1370", "fields": {"_ltrlog": [{"log_entry1": log}]}}
    >>> list(documents({"hits": {"hits": [hit]}}, None, None))
    [('1370', ('title', 'body'), [9.5, None])]
    """
    if body.get("error"):
        raise ValueError(f"the search failed: {shortened(body['error'], 200)}.")
    hits = body.get("hits", {})
    rows = hits.get("hits", []) if isinstance(hits, dict) else None
    # With `filter_path`, an empty result has no member `hits`.
    if not isinstance(rows, list) or (body and "hits" not in body):
        raise ValueError(
            "a response of Elasticsearch or OpenSearch must have its documents in hits.hits. Its "
            f"members are {', '.join(map(repr, body))}."
        )
    for hit in rows:
        if not isinstance(hit, dict):
            raise ValueError(f"a hit must be an object. Got {shortened(hit)} instead.")
        document = _id(hit, document_id)
        yield document, *_features(_logged(hit, document, log), document)


def _id(hit: dict[str, Any], field: str | None) -> str:
    if field is None:
        return as_id(hit.get("_id"), "the _id of a hit")
    source = hit.get("_source")
    value = source.get(field) if isinstance(source, dict) else None
    if value is None:
        fields = hit.get("fields")
        value = fields.get(field) if isinstance(fields, dict) else None
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return as_id(value, f"{field!r} in the _source or the fields of hit {hit.get('_id')!r}")


def _logged(hit: dict[str, Any], document: str, log: str | None) -> Any:
    fields = hit.get("fields")
    entries = fields.get("_ltrlog") if isinstance(fields, dict) else None
    logs = entries[0] if isinstance(entries, list) and entries else entries
    if not isinstance(logs, dict) or not logs:
        raise ValueError(
            f"document {document!r} has no fields._ltrlog. Log features with ext.ltr_log. The sltr "
            f"query must match every hit: put it into a separate should or filter."
        )
    if log is None:
        if len(logs) > 1:
            raise ValueError(
                f"document {document!r} has several logs: {', '.join(map(repr, logs))}. Name one."
            )
        return next(iter(logs.values()))
    if log not in logs:
        raise ValueError(
            f"document {document!r} has no log {log!r}. It has {', '.join(map(repr, logs))}."
        )
    return logs[log]


def _features(entries: Any, document: str) -> tuple[tuple[str, ...], list[Any]]:
    # The first versions of the plugin wrote an object of names and values.
    if isinstance(entries, dict):
        return tuple(entries), list(entries.values())
    try:
        names = [entry["name"] for entry in entries]
        values = [entry.get("value") for entry in entries]
    except (TypeError, KeyError, AttributeError):
        raise ValueError(
            f"the log of document {document!r} must be a list of features such as "
            f'{{"name": "title", "value": 1.5}}. Got {shortened(entries)} instead.'
        ) from None
    if _EXTRA in names and isinstance(values[names.index(_EXTRA)], dict):
        place = names.index(_EXTRA)
        del names[place], values[place]
    return tuple(names), values
