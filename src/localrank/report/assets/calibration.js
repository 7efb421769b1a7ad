// Best-feature calibration: two views of where methods gain and lose against the baseline.

const calibrationViews = {
  failure_level: {
    title: "By failure level",
    axis: "Failure level",
    note: "baseline less best feature: the baseline's own luck picks the queries, so any other model looks better at the left",
  },
  best_feature_score: {
    title: "By the best feature's score",
    axis: "Best feature's score",
    note: "no method's luck picks the queries",
  },
};

function calibrationLines() {
  const { rows, bounds } = data.calibration;
  let next = others.length; // what is no method of the table takes the looks after theirs
  return [...new Set(rows.map(({ method }) => method))].map((name) => {
    const line = { name, ...(methodLooks.get(name) ?? {}) };
    if (name === "baseline")
      Object.assign(line, { colour: "var(--ink)", shape: shapes[0], strong: true });
    else if (name === "best feature")
      Object.assign(line, { colour: "var(--muted)", shape: shapes[1] });
    else if (name === "control")
      Object.assign(line, { colour: "var(--muted)", shape: shapes[0], dash: "1.5 4" });
    else if (!line.colour) Object.assign(line, look(next++));
    if (bounds?.includes(name)) line.dash = "6 4";
    return line;
  });
}

function calibrationPlots() {
  if (!data.calibration?.rows?.length) return;
  const { rows, measure, verdict } = data.calibration;
  const [first, ...rest] = verdict.split("\n");
  const lines = calibrationLines();
  const place = section(
    "calibration",
    "Where the best single feature beats the baseline",
    "Calibration",
    el(
      "div",
      { class: "verdict-text" },
      el("p", {}, first),
      el(
        "ul",
        {},
        rest.map((line) => el("li", {}, line)),
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
    // An interval from two queries covers everything and tells nothing.
    // The lines' looks and whether they are hidden belong to both views, the points to one.
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
      "Points are means, with 95 % intervals where a level has three queries or more. Dashed: bounds, which know the labels. Dotted: the control, a second global " +
        "model with another seed; what it gains at negative failure levels is regression to the mean. Click a name to hide its line.",
    ),
  );
}
