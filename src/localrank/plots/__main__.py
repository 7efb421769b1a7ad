"""Draw the charts of JSON files as SVG: `python -m localrank.plots FILE...`."""

import sys

from localrank.plots.chart import draw_charts

if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(f"{path}: charts drawn: {len(draw_charts(path))}")
