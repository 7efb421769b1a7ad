// The measure against a tuned parameter, one plot for each tuned method.

function tuningPlots() {
  if (!data.tuning?.length) return;
  const place = section(
    "tuning",
    data.tuning.every(({ parameter }) => parameter === "n_clusters")
      ? "Choosing the number of clusters"
      : "Choosing parameters",
    "Tuning",
    el(
      "p",
      { class: "note" },
      "Mean over the validation queries for each value tried, with its standard error. The test queries are not used.",
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
