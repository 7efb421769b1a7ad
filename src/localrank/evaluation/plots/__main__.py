"""Draw the charts of JSON files as SVG: `python -m localrank.evaluation.plots FILE...`."""

import sys

from localrank.evaluation.plots.chart import draw_charts

if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python -m localrank.evaluation.plots FILE.json...")
    for path in sys.argv[1:]:
        try:
            n_charts = len(draw_charts(path))
        except (OSError, ValueError, TypeError, AttributeError) as error:
            sys.exit(f"{path}: no charts could be drawn from it ({error}).")
        print(f"{path}: charts drawn: {n_charts}")
