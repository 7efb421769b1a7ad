// Bounds beside their controls: the same for random groups.

function boundsTable() {
  if (!data.bounds?.length) return;
  const values = data.bounds.flatMap((bound) => [
    bound.selected,
    bound.clairvoyant,
    bound.control - (bound.control_spread ?? 0),
    bound.control + (bound.control_spread ?? 0),
  ]);
  const x = scale(padded(values.filter(known)), [8, 212]);

  const plot = ({ selected, clairvoyant, control, control_spread: spread }) =>
    svg(
      "svg",
      {
        class: "bound-plot",
        viewBox: "0 0 220 24",
        width: 220,
        height: 24,
        role: "img",
        "aria-label": `selected ${decimals(selected)}, clairvoyant ${decimals(clairvoyant)}, control ${decimals(control)}`,
      },
      svg("line", {
        class: "axis",
        x1: x(selected),
        x2: x(Math.max(clairvoyant, control)),
        y1: 12,
        y2: 12,
      }),
      svg("rect", {
        class: "control-range",
        x: x(control - (spread ?? 0)),
        y: 4,
        height: 16,
        width: Math.max(2, x(control + (spread ?? 0)) - x(control - (spread ?? 0))),
      }),
      svg("line", { class: "control", x1: x(control), x2: x(control), y1: 2, y2: 22 }),
      svg("path", { class: "selected", d: shapes[0](x(selected), 12, 4.5) }),
      svg("path", { class: "clairvoyant", d: shapes[3](x(clairvoyant), 12, 4.5) }),
    );

  const spreadText = (bound) =>
    decimals(bound.control) +
    (known(bound.control_spread) ? ` ± ${decimals(bound.control_spread)}` : "");

  section(
    "bounds",
    "What a perfect choice of group would gain",
    "Bounds",
    el(
      "p",
      { class: "note" },
      "A clairvoyant bound ranks each query with the group model that ranks it best. That needs the query's " +
        "labels, so a bound is not a method. The best of several models gains by chance alone. The control shows " +
        "how much: it is the same bound for random groups of the same sizes. Only the part of a " +
        "bound beyond its control is due to the groups.",
    ),
    scroller(
      "Table of bounds",
      el(
        "table",
        { class: "bounds" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["Method", "Measure"].map((title) => el("th", { scope: "col" }, title)),
            ["Groups", "Selected", "Clairvoyant", "Control", "Beyond chance"].map((title) =>
              el("th", { scope: "col", class: "number" }, title),
            ),
            el(
              "th",
              { scope: "col" },
              el(
                "span",
                { class: "key" },
                svg(
                  "svg",
                  { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
                  svg("path", { class: "selected", d: shapes[0](6, 6, 4.5) }),
                ),
                " selected ",
                svg(
                  "svg",
                  { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
                  svg("path", { class: "clairvoyant", d: shapes[3](6, 6, 4.2) }),
                ),
                " clairvoyant ",
                svg(
                  "svg",
                  { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
                  svg("rect", { class: "control-range", x: 1, y: 0, width: 10, height: 12 }),
                  svg("line", { class: "control", x1: 6, x2: 6, y1: 0, y2: 12 }),
                ),
                " control",
              ),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          data.bounds.map((bound) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, bound.name),
              el("td", {}, bound.measure),
              el("td", { class: "number" }, String(bound.n_groups)),
              el("td", { class: "number" }, decimals(bound.selected)),
              el("td", { class: "number" }, decimals(bound.clairvoyant)),
              el("td", { class: "number" }, spreadText(bound)),
              el("td", { class: "number" }, signed(bound.clairvoyant - bound.control)),
              el("td", {}, plot(bound)),
            ),
          ),
        ),
      ),
    ),
  );
}
