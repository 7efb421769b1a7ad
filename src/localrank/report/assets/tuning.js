// The measure against a tuned parameter, one plot for each tuned method.

function tuningPlots() {
  if (!data.tuning?.length) return;
  const place = section(
    "tuning",
    `Measure against ${data.tuning.every(({ parameter }) => parameter === "n_clusters") ? "number of clusters" : "tuned parameters"}`,
    "Tuning",
    el(
      "p",
      { class: "note" },
      "Mean over the validation queries with its standard error, for each value tried. The test queries had no part in it.",
    ),
  );
  const grid = el("div", { class: "trio" });
  place.append(grid);
  for (const { method, measure, parameter, values, means, errors } of data.tuning) {
    const points = new Map();
    values.forEach((value, i) => {
      if (!known(means[i])) return;
      const error = errors?.[i];
      points.set(value, {
        mean: means[i],
        low: known(error) ? means[i] - error : null,
        high: known(error) ? means[i] + error : null,
      });
    });
    const figure = el("figure", {}, el("figcaption", {}, el("strong", {}, method)));
    grid.append(figure);
    const line = { name: method, ...(methodLooks.get(method) ?? look(0)), points };
    lineChart(figure, `${measure} of ${method} against ${parameter}`, {
      levels: values.map((value) => ({ value, text: String(value) })),
      xTitle: parameter,
      yTitle: measure,
      series: () => [line],
    });
  }
}
