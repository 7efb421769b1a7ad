import gzip
from pathlib import Path

import numpy as np
import pytest

from localrank.experiments.text_collections import read_collection

# Documents, queries, queries with judgments: as the collections' descriptions count them.
SIZES = {
    "cran": (1400, 225, 225),
    "cisi": (1460, 57, 50),
    "med": (1033, 30, 30),
    "cacm": (3204, 64, 52),
    "npl": (11429, 93, 93),
}


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_a_record_in_smart_markup_is_its_fields_on_one_line(tmp_path):
    folder = write(
        tmp_path / "med",
        MED_ALL=".I 1\n.T\na long\ntitle\n.A\nsomeone\n.W\nthe .T body\n.I 2\n.W\nonly a body\n",
        MED_QRY=".I 1\n.W\n what\nis it\n.N\na note\n",
        MED_REL="1 2 1\n1 1 1\n1 2 1\n",
    )
    collection = read_collection(folder)
    assert collection.titles == ["a long title", ""]
    assert collection.bodies == ["the .T body", "only a body"]
    assert collection.queries == ["what is it"]
    assert collection.judgments.tolist() == [[0, 0, 1], [0, 1, 1]]


def test_a_numbered_record_stands_at_its_number_also_behind_a_gap(tmp_path):
    folder = tmp_path / "npl"
    folder.mkdir()
    for name, text in {
        "doc-text": "\n1\nfirst\nrecord\n   /\n3\nthird\n/\n",
        "query-text": "1\nA QUERY\n/\n2\nANOTHER\n/\n",
        "rlv-ass": "1\n 1\n  /\n2\n 1 3\n  /\n",
    }.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    collection = read_collection(folder)
    assert collection.bodies == ["first record", "", "third"]
    assert collection.queries == ["A QUERY", "ANOTHER"]
    assert collection.judgments.tolist() == [[0, 0, 1], [1, 0, 1], [1, 2, 1]]


def test_codes_of_cranfield_become_grades_and_no_interest_is_left_out(tmp_path):
    folder = tmp_path / "cran"
    write(folder, cran_qry=".I 004\n.W\nq\n", cranqrel="1 1 1 \n1 2 4 \n1 3 -1\n1 2 2\n")
    (folder / "cran.all.1400").write_text("".join(f".I {i}\n.W\nx\n" for i in (1, 2, 3)))
    assert read_collection(folder).judgments.tolist() == [[0, 0, 4], [0, 1, 3]]


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is none of the text collections cran, cisi"):
        read_collection(tmp_path / "reuters")


@pytest.mark.parametrize("name", SIZES)
def test_collections_have_the_sizes_they_are_known_by(name, benchmark_data):
    collection = read_collection(benchmark_data / "text" / name)
    judged = np.unique(collection.judgments[:, 0])
    assert (len(collection.bodies), len(collection.queries), len(judged)) == SIZES[name]
    assert len(collection.titles) == len(collection.bodies)
    assert collection.judgments[:, 1].max() < len(collection.bodies)
