"""Results of Vespa with `matchfeatures` or `summaryfeatures`."""

from __future__ import annotations

from typing import Any

from localrank.data.feature_logs._values import Documents, as_id, shortened

FIELDS = ("matchfeatures", "summaryfeatures")
# Vespa's note about its cache is among the summary features.
_NOT_FEATURES = "vespa.summaryFeatures.cached"


def recognised(body: dict[str, Any]) -> bool:
    """Whether a response is of this shape."""
    return "root" in body


def documents(body: dict[str, Any], log: str | None, document_id: str | None) -> Documents:
    """The hits of a result: document id, names and values of the features.

    Features are in `fields.matchfeatures`, or else in `fields.summaryfeatures`. Groups are skipped.

    Examples
    --------
    >>> hit = {"id": "id:shop:item::7", "fields": {"matchfeatures": {"bm25(title)": 4.5}}}
    >>> list(documents({"root": {"children": [hit]}}, None, None))
    [('id:shop:item::7', ('bm25(title)',), [4.5])]
    """
    root = body.get("root")
    children = root.get("children", []) if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(children, list):
        raise ValueError(
            "a result of Vespa must have its hits in root.children. Its members are "
            f"{', '.join(map(repr, body))}."
        )
    if root.get("errors"):
        raise ValueError(f"the query failed: {shortened(root['errors'], 200)}.")
    for hit in children:
        if not isinstance(hit, dict):
            raise ValueError(f"a hit must be an object. Got {shortened(hit)} instead.")
        # Groups and lists of groups are among the hits.
        if str(hit.get("id", "")).startswith(("group:", "grouplist:")):
            continue
        fields = hit.get("fields")
        fields = fields if isinstance(fields, dict) else {}
        if document_id is not None:
            document = as_id(fields.get(document_id), f"the field {document_id!r} of a hit")
        else:
            document = as_id(fields.get("documentid", hit.get("id")), "the id of a hit")
        logged = fields.get(log or FIELDS[0], None if log else fields.get(FIELDS[1]))
        if not isinstance(logged, dict):
            raise ValueError(
                f"document {document!r} has no {log or ' or '.join(FIELDS)}. Name the features in "
                f"the rank profile: match-features {{ ... }}. Its fields are "
                f"{', '.join(map(repr, fields))}."
            )
        if _NOT_FEATURES in logged:
            logged = {name: value for name, value in logged.items() if name != _NOT_FEATURES}
        yield document, tuple(logged), list(logged.values())
