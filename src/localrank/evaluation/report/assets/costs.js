// Time and size against the measure.

/** A place for each label beside its point, free of other labels, points and edges. */
function placeLabels(points, width, { left, top, bottom }) {
  const taken = points.map(({ px, py }) => [px - 6, py - 6, px + 6, py + 6]);
  const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  return points.map(({ px, py, name }) => {
    const wide = name.length * 6.4 + 4;
    const places = [
      { x: px + 9, y: py + 4, anchor: "start", box: [px + 7, py - 7, px + 9 + wide, py + 7] },
      { x: px - 9, y: py + 4, anchor: "end", box: [px - 9 - wide, py - 7, px - 7, py + 7] },
      { x: px, y: py - 10, anchor: "middle", box: [px - wide / 2, py - 21, px + wide / 2, py - 7] },
      { x: px, y: py + 19, anchor: "middle", box: [px - wide / 2, py + 8, px + wide / 2, py + 22] },
      { x: px + 8, y: py - 10, anchor: "end", box: [px + 8 - wide, py - 21, px + 8, py - 7] },
      { x: px + 8, y: py + 19, anchor: "end", box: [px + 8 - wide, py + 8, px + 8, py + 22] },
      { x: px - 8, y: py - 10, anchor: "start", box: [px - 8, py - 21, px - 8 + wide, py - 7] },
      { x: px - 8, y: py + 19, anchor: "start", box: [px - 8, py + 8, px - 8 + wide, py + 22] },
    ];
    const free = places.find(
      ({ box }) =>
        box[0] >= left &&
        box[2] <= width &&
        box[1] >= top - 6 &&
        box[3] <= bottom &&
        !taken.some((other) => meets(box, other)),
    );
    if (free) taken.push(free.box);
    return free; // without room, the tooltip and the legend name the point
  });
}

function costPlot(parent, { title, key, format }) {
  const figure = el("figure", {}, el("figcaption", {}, el("strong", {}, title)));
  parent.append(figure);
  let points = [];
  const drawing = chart(figure, `${title} against the measure`, (width) => {
    const box = { left: 48, right: width - 12, top: 26, bottom: 236 };
    const list = working.filter((method) => method[key] > 0 && known(method.means[chosen.measure]));
    if (!list.length) return { height: 0, marks: [] };
    const costs = list.map((method) => method[key]);
    const range = [Math.min(...costs) / 1.6, Math.max(...costs) * 1.6];
    const x = scale(range, [box.left, box.right], Math.log10);
    const yRange = padded(
      list.map(({ means }) => means[chosen.measure]),
      0.12,
    );
    const sign = direction(chosen.measure);
    const y = scale(yRange, sign > 0 ? [box.bottom, box.top] : [box.top, box.bottom]);
    points = list.map((method) => ({
      method,
      name: method.name,
      px: x(method[key]),
      py: y(method.means[chosen.measure]),
    }));
    const labels = placeLabels(points, width, box);
    // Methods that no cheaper method beats.
    let best = -Infinity;
    const frontier = [...points]
      .sort((a, b) => a.px - b.px || a.py - b.py)
      .filter(({ method }) => {
        const value = sign * method.means[chosen.measure];
        if (value <= best) return false;
        best = value;
        return true;
      });
    const path =
      frontier.map(({ px, py }, i) => (i ? `H${px}V${py}` : `M${px} ${py}`)).join("") +
      `H${box.right}`;
    return {
      height: 274,
      marks: [
        axes(
          box,
          x,
          logTicks(...range, format, Math.floor(width / 75)),
          null,
          y,
          roundTicks(...yRange, 5),
          chosen.measure,
        ),
        svg("path", { class: "frontier", d: path }),
        ...points.map(({ name, px, py }) => {
          const { colour, shape } = methodLooks.get(name);
          return svg("path", {
            class: "mark ringed",
            "--c": colour,
            d: shape(px, py, 5),
            "data-name": name,
          });
        }),
        ...labels
          .map(
            (label, i) =>
              label &&
              svg(
                "text",
                { class: "name", x: label.x, y: label.y, "text-anchor": label.anchor },
                points[i].name,
              ),
          )
          .filter(Boolean),
      ],
    };
  });
  track(drawing.host, (px, py) => {
    const index = nearest(
      points.map((point) => [point.px, point.py]),
      px,
      py,
      24,
    );
    if (index < 0) return null;
    const { method } = points[index];
    return factList(method.name, [
      [chosen.measure, decimals(method.means[chosen.measure])],
      ["training", `${duration(method.train_cpu_seconds)} of CPU, ${duration(method.train_seconds)}`],
      ["per query", `${short(method.milliseconds_per_query)} ms`],
      ["size", bytes(method.model_bytes)],
      ["models", short(method.n_models)],
    ]);
  });
  watch(["measure"], drawing.redraw);
}

function costPlots() {
  const kinds = [
    { title: "Training, CPU time", key: "train_cpu_seconds", format: duration },
    { title: "Milliseconds per query", key: "milliseconds_per_query", format: short },
    { title: "Model size", key: "model_bytes", format: bytes },
  ].filter(({ key }) => working.some((method) => method[key] > 0));
  if (!kinds.length) return;
  const place = section(
    "costs",
    "Time and size",
    "Cost",
    el(
      "p",
      { class: "note" },
      "Higher is better, further left is cheaper. Costs have a logarithmic scale. The line joins the methods that no cheaper method beats.",
    ),
  );
  place.append(
    el(
      "ul",
      { class: "names" },
      working.map(({ name }) => el("li", {}, swatch(methodLooks.get(name)), ` ${name}`)),
    ),
  );
  const grid = el("div", { class: "trio" });
  place.append(grid);
  kinds.forEach((kind) => costPlot(grid, kind));
}
