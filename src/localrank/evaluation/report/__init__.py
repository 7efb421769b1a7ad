"""The comparison as one self-contained HTML page."""

from localrank.evaluation.report.page import render, write

__all__ = ["render", "write"]
