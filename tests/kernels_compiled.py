"""A plugin of pytest that fails a run in which a kernel was never called.

    NUMBA_BOUNDSCHECK=1 python -m pytest -p kernels_compiled ...

The run with checked bounds takes the tests of kernels only. This tells when a new kernel is not
among them.
"""

import importlib
import pkgutil

import pytest
from numba.core.dispatcher import Dispatcher

import localrank


def kernels():
    """Every compiled function of the package, by its full name."""
    compiled = {}
    for module in pkgutil.walk_packages(localrank.__path__, "localrank."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Dispatcher):
                    compiled[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return compiled


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK:
        # What is written into its callers is compiled with them.
        absent = sorted(
            name
            for name, kernel in kernels().items()
            if not kernel.signatures and kernel.targetoptions.get("inline") != "always"
        )
        if absent:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            session.config.stash[ABSENT] = absent


def pytest_terminal_summary(terminalreporter, config):
    for name in config.stash.get(ABSENT, []):
        terminalreporter.write_line(f"never called: {name}; add its tests to the run", red=True)


ABSENT = pytest.StashKey()
