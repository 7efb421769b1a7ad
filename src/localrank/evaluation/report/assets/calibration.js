// Best-feature calibration: where methods gain and lose against the baseline, in two views.

const calibrationViews = {
  failure_level: {
    title: "By failure level",
    axis: "Failure level",
    note: "The baseline's value minus the best feature's. At the left are queries on which the baseline was unlucky, so any other model looks better there.",
  },
  best_feature_score: {
    title: "By the best feature's score",
    axis: "Best feature's score",
    note: "No method decides where a query stands, so luck favours none of them.",
  },
};

const linesAtFirst = 8;

/** The look of the method in this role. */
function lookOf(role) {
  const method = others.find((other) => other.role === role);
  return methodLooks.get(method?.name) ?? { colour: "var(--muted)", shape: shapes[1] };
}

function calibrationLines() {
  const { rows, bounds } = data.calibration;
  let next = others.length; // lines that are not in the table take the next looks
  return [...new Set(rows.map(({ method }) => method))].map((name) => {
    const line = { name, ...(methodLooks.get(name) ?? {}) };
    if (name === "baseline")
      Object.assign(line, { colour: "var(--ink)", shape: shapes[0], strong: true });
    else if (name === "best feature") Object.assign(line, lookOf("best feature"));
    else if (name === "control") Object.assign(line, lookOf("reseeded"), { dash: "1.5 4" });
    else if (!line.colour) Object.assign(line, look(next++));
    if (bounds?.includes(name)) line.dash = "6 4";
    return line;
  });
}

function calibrationPlots() {
  if (!data.calibration?.rows?.length) return;
  const { rows, measure, summary, reading, by_method: byMethod } = data.calibration;
  const lines = calibrationLines();
  // The best methods at first: more lines than these are a tangle.
  lines.slice(linesAtFirst).forEach((line) => (line.hidden = true));
  const place = section(
    "calibration",
    "Where the best single feature beats the baseline",
    "Calibration",
    el("p", { class: "summary" }, summary),
    folded(
      `How to read it, and the figures of ${count(Object.keys(byMethod).length, "method")}`,
      reading.map((text) => el("p", {}, text)),
      el(
        "ul",
        {},
        Object.entries(byMethod).map(([name, text]) =>
          el("li", {}, el("strong", {}, name), `: ${text}`),
        ),
      ),
    ),
  );
  const charts = [];
  legend(place, lines, () => charts.forEach(({ redraw }) => redraw()));
  const pair = el("div", { class: "pair" });
  place.append(pair);
  for (const [view, { title, axis, note }] of Object.entries(calibrationViews)) {
    const ours = rows.filter((row) => row.view === view);
    if (!ours.length) continue;
    // Levels are tenths; one without queries keeps its place.
    const tenth = ({ level }) => Math.round(10 * level);
    const sizes = new Map(ours.map((row) => [tenth(row), row.n_queries]));
    const levels = [];
    for (let value = Math.min(...sizes.keys()); value <= Math.max(...sizes.keys()); value++) {
      levels.push({ value, text: decimals(value / 10, 1), n: sizes.get(value) ?? 0 });
    }
    // An interval from two queries covers everything, so it is left out. Both views share the
    // lines' looks; each has its points.
    const points = new Map(
      lines.map(({ name }) => [
        name,
        new Map(
          ours
            .filter(({ method }) => method === name)
            .map((row) => [tenth(row), row.n_queries < 3 ? { mean: row.mean } : row]),
        ),
      ]),
    );
    const figure = el("figure", {}, el("figcaption", {}, el("strong", {}, title), ` ${note}`));
    pair.append(figure);
    charts.push(
      lineChart(figure, `${measure} ${title.toLowerCase()}`, {
        levels,
        xTitle: axis,
        yTitle: measure,
        series: () =>
          lines
            .map((line) => ({ ...line, points: points.get(line.name) }))
            .filter((line) => line.points.size),
      }),
    );
  }
  place.append(
    el(
      "p",
      { class: "note" },
      "Points are means, with 95 % intervals for levels of three queries or more. Dotted: the control, which is the baseline with another seed; " +
        "its gain at negative failure levels is regression to the mean. Dashed: bounds, which know the labels. Click a name to show or hide its line.",
    ),
  );
}
