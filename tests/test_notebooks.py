"""The example notebooks run, and have the outputs that they are published with."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat", reason="executing notebooks needs nbformat")
pytest.importorskip("nbclient", reason="executing notebooks needs nbclient")
pytest.importorskip("ipykernel", reason="executing notebooks needs ipykernel")

from executed_notebooks import executed  # noqa: E402
from jupyter_client.manager import start_new_kernel  # noqa: E402

FOLDER = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def notebooks(request):
    """A notebook as it is published, and as it runs now."""
    return nbformat.read(request.param, as_version=4), executed(request.param)


def outputs(notebook, *, without=()):
    """The outputs of each cell, unless the cell has one of the tags."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.outputs for cell in cells if not set(cell.metadata.get("tags", ())) & {*without}]


def texts(notebook):
    """What the cells print and show as text, in words and numbers, where it does not vary."""
    plain = [
        output.get("text") or output.data["text/plain"]
        for of_cell in outputs(notebook, without=["varies"])
        for output in of_cell
    ]
    return ["".join(NUMBER.sub("#", text).split()) for text in plain], [
        float(number.replace(",", "")) for text in plain for number in NUMBER.findall(text)
    ]


def test_a_notebook_runs_without_errors_and_warnings(notebooks):
    for notebook in notebooks:
        for of_cell in outputs(notebook):
            assert [output for output in of_cell if output.output_type == "error"] == []
            assert [output for output in of_cell if output.get("name") == "stderr"] == []


def test_a_notebook_is_published_with_the_outputs_that_it_has(notebooks):
    published, now = notebooks
    # Versions of numerical libraries differ in the last digits.
    assert texts(now)[0] == texts(published)[0]
    assert texts(now)[1] == pytest.approx(texts(published)[1], rel=0.02, abs=0.002)
    kinds = [
        [sorted(output.get("data", ())) for of_cell in outputs(notebook) for output in of_cell]
        for notebook in notebooks
    ]
    assert kinds[0] == kinds[1]
    assert any("image/svg+xml" in kind for kind in kinds[0])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_published_notebook_is_small_and_tells_nothing_of_its_machine(path):
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 150_000
    for trace in ("/home/", "/root/", "/tmp/", "site-packages", "iopub"):
        assert trace not in text


CODE = """
print("before")
from localrank._base.progress import progress
with progress("Reading", 2) as advance:
    for _ in range(2):
        with progress("Lines", None) as step:
            step()
        advance()
print("after")
"""


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages(client, *, has_reader):
    """What the kernel sends to the notebook, without its own states."""
    sent = []
    client.execute_interactive(CODE, allow_stdin=has_reader, output_hook=sent.append, timeout=60)
    shown = ("stream", "error", "clear_output", "display_data", "update_display_data")
    return [message for message in sent if message["msg_type"] in shown]


def test_bars_of_a_real_notebook_are_one_output_that_ends_empty(kernel):
    sent = messages(kernel, has_reader=True)
    assert sent[0]["content"]["text"] == "before\n"
    assert sent[-1]["content"]["text"] == "after\n"
    bars = sent[1:-1]
    assert [message["msg_type"] for message in bars[:1]] == ["display_data"]
    assert {message["msg_type"] for message in bars[1:]} == {"update_display_data"}
    assert len({message["content"]["transient"]["display_id"] for message in bars}) == 1
    assert '<progress value="0" max="2">' in bars[0]["content"]["data"]["text/html"]
    assert bars[-1]["content"]["data"] == {"text/plain": "", "text/html": ""}


def test_a_real_notebook_that_a_program_executes_has_no_bars(kernel):
    sent = messages(kernel, has_reader=False)
    assert {message["msg_type"] for message in sent} == {"stream"}
    assert "".join(message["content"]["text"] for message in sent) == "before\nafter\n"
