import base64
import hashlib
import json
import re

import pytest
from evaluation.report.sample import sample

from localrank.evaluation.report import render, write

HOSTILE = "</script><img src=x onerror=alert(1)>{{script}}<!--"


@pytest.fixture(scope="module")
def data():
    return sample(20)


def embedded(page: str) -> str:
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]


def test_the_page_holds_the_data_unchanged(data):
    assert json.loads(embedded(render(data))) == data


@pytest.mark.parametrize("name", [HOSTILE, "\u2028é中", "\ud800", "\\", '"'])
def test_any_id_survives(data, name):
    ids = [name, *data["queries"]["ids"][1:]]
    page = render({**data, "queries": {**data["queries"], "ids": ids}})
    assert json.loads(embedded(page))["queries"]["ids"][0] == name
    assert page.encode().count(b"<img") == 0


def test_title_and_verdict_are_escaped(data):
    page = render({**data, "title": HOSTILE, "verdict": "a < b & <b>c</b>"})
    assert "<img" not in page
    assert "{{script}}" in page
    assert "a &lt; b &amp; &lt;b&gt;c&lt;/b&gt;" in page


def test_many_sentences_and_long_titles_leave_room_for_the_results(data):
    few = render({**data, "verdict": "\n".join(map(str, range(9)))})
    many = render({**data, "verdict": "\n".join(map(str, range(10))), "title": "run, " * 20})
    assert "more sentences" not in few
    assert '<h1 class="long">' not in few
    assert '<li>6</li></ul><details class="folded"><summary>3 more sentences</summary>' in many
    assert "<li>9</li></ul></details>" in many
    assert '<h1 class="long">' in many


def test_a_p_value_stays_on_one_line(data):
    page = render({**data, "verdict": "a leads (+0.1, p < 0.001).\nb (p = 0.2), step = 3"})
    together = re.findall(r'<span class="together">(.*?)</span>', page)
    assert together == ["p &lt; 0.001", "p = 0.2"]


def test_nothing_is_left_to_fill_in(data):
    assert not re.search(r"\{\{\w+\}\}", render(data))


def test_the_policy_allows_the_page_its_own_scripts_and_no_network(data):
    page = render(data)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_a_value_that_json_lacks_is_refused(data):
    with pytest.raises(ValueError, match="not JSON compliant"):
        render({**data, "bounds": [{"control": float("nan")}]})


def test_the_page_itself_is_small(data):
    assert len(render(data)) - len(embedded(render(data))) < 100_000


def test_what_is_refused_leaves_the_old_page(data, tmp_path):
    path = tmp_path / "index.html"
    write(data, path)
    with pytest.raises(ValueError, match="JSON"):
        write({**data, "tuning": float("inf")}, path)
    assert path.read_text(encoding="utf-8") == render(data)
