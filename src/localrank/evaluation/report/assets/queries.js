// Per-query differences between a method and the baseline, sorted.

/** Queries that both rankers have a value for, from the largest gain to the largest loss. */
function differences(method, measure) {
  const ours = data.queries.values[method]?.[measure] ?? [];
  const theirs = data.queries.values[data.baseline]?.[measure] ?? [];
  const list = [];
  ours.forEach((value, index) => {
    if (known(value) && known(theirs[index]))
      list.push({ index, value, base: theirs[index], difference: value - theirs[index] });
  });
  const sign = direction(measure);
  return list.sort((a, b) => sign * (b.difference - a.difference) || a.index - b.index);
}

/** A query's name, with its fold where there are several. */
const severalFolds = new Set(data.queries?.folds ?? []).size > 1;
const queryName = (index) =>
  `Query ${apart(data.queries.ids[index])}${severalFolds ? ` · ${data.queries.folds[index]}` : ""}`;

const meanOf = (list) =>
  list.reduce((sum, { difference }) => sum + difference, 0) / Math.max(list.length, 1);

function queryDifferences() {
  if (!data.queries?.ids?.length || !others.length) return;
  const summary = el("p", { class: "summary", "aria-live": "polite" });
  const readout = el("span");
  const opener = el(
    "button",
    { type: "button", hidden: true, onclick: () => open() },
    "See its documents",
  );
  const place = section(
    "differences",
    "Query by query",
    "Queries",
    el(
      "p",
      { class: "note" },
      "One bar for each query, the largest gain at the left. The bars show whether the mean comes from many " +
        "small differences or from a few large ones.",
    ),
    el(
      "div",
      { class: "controls" },
      chooser(
        capital(words.method),
        "method",
        others.map(({ name }) => name),
      ),
    ),
    summary,
  );

  let list = [];
  let at = -1; // the bar under the pointer or the keyboard
  let x = null;
  let cursor = null;
  let step = 1;

  const drawing = chart(place, "Difference of each query to the baseline, sorted", (width) => {
    const box = { left: 48, right: width - 4, top: 24, bottom: 250 };
    const values = list.map(({ difference }) => difference);
    const range = padded([0, ...values]);
    const y = scale(range, [box.bottom, box.top]);
    step = (box.right - box.left) / Math.max(list.length, 1);
    x = (position) => box.left + (position + 0.5) * step;
    const bars = (keep) =>
      list
        .map(({ difference }, i) =>
          keep(difference)
            ? `M${x(i).toFixed(2)} ${y(0).toFixed(2)}V${y(difference).toFixed(2)}`
            : "",
        )
        .join("");
    const sign = direction(chosen.measure);
    const thick = Math.max(0.7, Math.min(step * 0.8, 24));
    cursor = svg("rect", {
      class: "cursor-bar",
      y: box.top,
      height: box.bottom - box.top,
      width: Math.max(step, 2),
      visibility: "hidden",
    });
    const mean = meanOf(list);
    return {
      height: 262,
      marks: [
        axes(
          box,
          () => 0,
          [],
          null,
          y,
          roundTicks(...range, 5),
          cut(
            `${apart(chosen.method)} − ${apart(data.baseline)}, ${chosen.measure}`,
            Math.floor((box.right - box.left) / 6.6),
          ),
        ),
        cursor,
        svg("path", {
          class: "bars gain",
          "stroke-width": thick,
          d: bars((difference) => difference * sign > 0),
        }),
        svg("path", {
          class: "bars loss",
          "stroke-width": thick,
          d: bars((difference) => difference * sign < 0),
        }),
        svg("line", { class: "axis", x1: box.left, x2: box.right, y1: y(0), y2: y(0) }),
        svg("line", { class: "mean", x1: box.left, x2: box.right, y1: y(mean), y2: y(mean) }),
      ],
    };
  });
  place.append(el("p", { class: "readout" }, readout, opener));

  const { host } = drawing;
  const describe = ({ index, value, base, difference }) => [
    [data.baseline, decimals(base)],
    [chosen.method, decimals(value)],
    ["difference", signed(difference)],
    ["documents", data.queries.n_documents[index].toLocaleString("en")],
    ["relevant", data.queries.n_relevant[index].toLocaleString("en")],
  ];

  function move(position) {
    at = Math.max(0, Math.min(list.length - 1, position));
    cursor.setAttribute("x", x(at) - Math.max(step, 2) / 2);
    cursor.setAttribute("visibility", "visible");
    const item = list[at];
    const text = `${queryName(item.index)}: ${signed(item.difference)}`;
    host.setAttribute("aria-valuenow", at + 1);
    host.setAttribute("aria-valuetext", text);
    readout.textContent =
      `${text} (${apart(data.baseline)} ${decimals(item.base)}, ${apart(chosen.method)} ${decimals(item.value)}). ` +
      (explored.has(item.index) ? "" : "The explorer does not have this query.");
    opener.hidden = !explored.has(item.index);
    return item;
  }

  function update() {
    list = differences(chosen.method, chosen.measure);
    const sign = direction(chosen.measure);
    const won = list.filter(({ difference }) => difference * sign > 0).length;
    const lost = list.filter(({ difference }) => difference * sign < 0).length;
    const skipped = data.queries.ids.length - list.length;
    summary.textContent =
      `${apart(chosen.method)} is better on ${won.toLocaleString("en")}, equal on ${(list.length - won - lost).toLocaleString("en")} and worse on ` +
      `${lost.toLocaleString("en")} of ${queriesText(list.length)} by ${chosen.measure}` +
      (skipped ? ` (it skips ${skipped.toLocaleString("en")})` : "") +
      `. The mean difference is ${signed(meanOf(list))} (dashed).`;
    readout.textContent =
      "Point at a bar, tap it, or use the arrow keys to see its query.";
    opener.hidden = true;
    at = -1;
    host.setAttribute("aria-valuemax", list.length);
    drawing.redraw();
  }

  function open() {
    if (at < 0 || !explored.has(list[at].index)) return;
    hideTooltip();
    explore(list[at].index);
  }

  for (const [name, value] of Object.entries({
    tabindex: 0,
    role: "slider",
    "aria-label": "Queries from the largest gain to the largest loss",
    "aria-valuemin": 1,
    "aria-valuenow": 1,
  }))
    host.setAttribute(name, value);
  host.classList.add("clickable");
  track(
    host,
    (px) => {
      if (!list.length) return null;
      const item = move(Math.floor((px - (x(0) - step / 2)) / step));
      return factList(queryName(item.index), describe(item));
    },
    () => cursor.setAttribute("visibility", "hidden"),
  );
  host.addEventListener("click", (event) => event.pointerType !== "touch" && open());
  host.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.round(list.length / 10));
    const target = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      Home: 0,
      End: list.length - 1,
      PageUp: at + page,
      PageDown: at - page,
    }[event.key];
    if (event.key === "Enter") open();
    if (target === undefined || !list.length) return;
    event.preventDefault();
    move(target);
  });
  update();
  watch(["method", "measure"], update);
}
