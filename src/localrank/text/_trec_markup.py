"""Reads TREC's documents, `<DOC> <DOCNO>1</DOCNO> <TEXT>...</TEXT> </DOC>`, and its topics."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from os import PathLike
from typing import Any

from localrank.text._smart import Records
from localrank.text._text_lines import MAX_LINE, numbered_lines

_DOCUMENT = re.compile(r"<doc>", re.IGNORECASE), re.compile(r"</doc>", re.IGNORECASE)
_TOPIC = re.compile(r"<top(?:ic)?(?:\s[^>]*)?>", re.I), re.compile(r"</top(?:ic)?>", re.I)
_ELEMENT = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^>]*)?>(.*?)</\1\s*>", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!][^>]*>")
_PART = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^>]*)?>([^<]*)")
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']?\s*([^"'\s>]+)""", re.IGNORECASE)
# Words that topics repeat after a tag.
_SAID = re.compile(r"\s*(?:Number|Topic|Description|Narrative|Summary|Domain|Concepts?)\s*:", re.I)


def trec_documents(path: str | PathLike[str], encoding: str) -> Records:
    """The documents, with the lines where they begin. Fields have the names of their elements.

    Names are in lower case, and DOCNO is the id. Tags within a field are removed and their text is
    kept. Entities such as `&amp;` become characters. Text outside all fields is left out.
    """
    for number, _, text in _blocks(path, encoding, *_DOCUMENT, "</DOC>"):
        fields: dict[str, list[str]] = {}
        for name, content in _ELEMENT.findall(text):
            fields.setdefault(name.lower(), []).append(_plain(content))
        record: dict[str, Any] = {key: "\n".join(parts) for key, parts in fields.items()}
        name = record.pop("docno", "").strip()
        if not name:
            raise ValueError(f"{path}:{number}: the document has no <DOCNO>...</DOCNO>.")
        yield number, {"id": name, **record}


def trec_topics(path: str | PathLike[str], encoding: str) -> Records:
    """The topics, with the lines where they begin. Tags need no end tags, as in TREC's files.

    The id is the text of `<num>`, or the attribute `number` of the topic.
    """
    for number, head, text in _blocks(path, encoding, *_TOPIC, "</top>"):
        record: dict[str, Any] = {}
        for name, content in _PART.findall(text):
            said = _plain(_SAID.sub("", content, count=1))
            record[name.lower()] = " ".join(said.split())
        attribute = _NUMBER.search(head)
        name = record.pop("num", "") or (attribute[1] if attribute else "")
        if not name:
            raise ValueError(f"{path}:{number}: the topic has no number, such as <num> Number: 1.")
        yield number, {"id": name, **record}


def _blocks(
    path: str | PathLike[str],
    encoding: str,
    first: re.Pattern[str],
    last: re.Pattern[str],
    end: str,
) -> Iterator[tuple[int, str, str]]:
    """The line where a block begins, its tag, and the text up to its end tag."""
    begin, head, lines, size = 0, "", list[str](), 0
    for number, line in numbered_lines(path, encoding):
        rest = line
        while rest or begin:
            if not begin:
                opening = first.search(rest)
                if opening is None:
                    break
                begin, head, lines, size = number, opening[0], [], 0
                rest = rest[opening.end() :]
            closing = last.search(rest)
            if closing is None:
                lines.append(rest)
                size += len(rest)
                if size > MAX_LINE:
                    raise ValueError(
                        f"{path}:{begin}: no {end} follows within {MAX_LINE:,} characters."
                    )
                break
            lines.append(rest[: closing.start()])
            yield begin, head, "\n".join(lines)
            begin, rest = 0, rest[closing.end() :]
    if begin:
        raise ValueError(f"{path}:{begin}: no {end} follows.")


def _plain(content: str) -> str:
    return html.unescape(_TAG.sub(" ", content)).strip()
