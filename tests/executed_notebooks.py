"""Example notebooks, executed by a kernel of its own.

`python tests/executed_notebooks.py examples/first_steps.ipynb` executes a notebook and writes its
outputs into the file, without times and without what differs from one machine to the next.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def executed(path):
    """The notebook with the outputs that it has now."""
    notebook = nbformat.read(path, as_version=4)
    # Warnings of the kernel itself, about the machine it runs on, are no part of an output.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(Path(path).parent)}},
    )
    return client.execute()


def write(path):
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
