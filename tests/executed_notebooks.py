"""Example notebooks, executed by a kernel of its own.

`python tests/executed_notebooks.py examples/first_steps.ipynb` executes a notebook and writes its
outputs into the file, without times and without what differs from one machine to the next.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def executed(path):
    """The notebook with the outputs that it has now."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(Path(path).parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _tells_of_compiling(output)]
    return notebook


def _tells_of_compiling(output):
    """Whether an output is the notice of a machine that runs localrank for the first time."""
    return output.get("name") == "stderr" and output.text.startswith("localrank: compiling")


def write(path):
    """Execute a notebook and write its outputs into the file."""
    notebook = executed(path)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(name)
