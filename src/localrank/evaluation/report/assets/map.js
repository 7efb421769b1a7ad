// The map of the training queries, coloured by group, and a table of the groups.

const groupLooks = (group) => look(group);

function groupTable(map, highlight) {
  const scores = map.groups.flatMap(({ baseline, local }) => [baseline, local]).filter(known);
  const x = scale(padded(scores.length ? scores : [0, 1]), [6, 104]);
  const heaviest = Math.max(
    1e-12,
    ...map.groups.flatMap(({ strongest }) => strongest.map(({ weight }) => Math.abs(weight))),
  );
  const sign = direction(measures[0]);
  const compare = ({ baseline, local }) => {
    if (!known(baseline) || !known(local)) return [missing];
    const better = (local - baseline) * sign;
    return [
      el("span", { class: "number" }, signed(local - baseline)),
      svg(
        "svg",
        {
          class: `dumbbell ${better > 0 ? "gain" : better < 0 ? "loss" : ""}`,
          viewBox: "0 0 110 18",
          width: 110,
          height: 18,
          role: "img",
          "aria-label": `baseline ${decimals(baseline, 3)}, local ${decimals(local, 3)}`,
        },
        svg("line", { x1: x(baseline), x2: x(local), y1: 9, y2: 9 }),
        svg("circle", { class: "from", cx: x(baseline), cy: 9, r: 4 }),
        svg("circle", { class: "to", cx: x(local), cy: 9, r: 4.5 }),
      ),
    ];
  };
  const features = (strongest) =>
    el(
      "ul",
      { class: "features" },
      strongest.map(({ feature, weight }) =>
        el(
          "li",
          {},
          el(
            "span",
            { class: "weight", "aria-hidden": "true" },
            el("span", { "--share": `${(Math.abs(weight) / heaviest) * 100}%` }),
          ),
          el("span", {}, feature),
          el("small", {}, signed(weight, 2)),
        ),
      ),
    );
  return el(
    "table",
    { class: "groups" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Group"),
        el("th", { scope: "col", class: "number" }, "Queries", el("small", {}, "training, test")),
        el("th", { scope: "col" }, "Strongest features"),
        el("th", { scope: "col", class: "number" }, "Baseline"),
        el("th", { scope: "col", class: "number" }, "Local"),
        el("th", { scope: "col" }, "Difference", el("small", {}, "○ baseline ● local")),
      ),
    ),
    el(
      "tbody",
      {},
      map.groups.map((group, index) =>
        el(
          "tr",
          {},
          el(
            "th",
            { scope: "row" },
            el(
              "button",
              {
                type: "button",
                class: "plain",
                "aria-pressed": "false",
                "data-group": index,
                onclick: () => highlight(index),
              },
              swatch(groupLooks(index)),
              el("span", {}, String(index + 1)),
            ),
          ),
          el(
            "td",
            { class: "number" },
            group.size.toLocaleString("en"),
            el("small", {}, group.n_test.toLocaleString("en")),
          ),
          el("td", {}, features(group.strongest)),
          el("td", { class: "number" }, decimals(group.baseline)),
          el("td", { class: "number" }, decimals(group.local)),
          el("td", {}, ...compare(group)),
        ),
      ),
    ),
  );
}

function queryMap() {
  if (!data.maps?.length) return;
  const names = data.maps.map(({ method, fold }) => `${method} · ${fold}`);
  const select = el(
    "select",
    {},
    names.map((name, i) => el("option", { value: String(i) }, name)),
  );
  const place = section(
    "map",
    "Map of the queries",
    "Map",
    el(
      "p",
      { class: "note" },
      `Each mark is a training query. Queries close together look alike to the method. ` +
        `The table has ${measures[0]} of the test queries that each group serves. Click a group to highlight it.`,
    ),
    names.length > 1
      ? el("div", { class: "controls" }, el("label", {}, "Method and fold ", select))
      : el("p", { class: "summary" }, names[0]),
  );
  let map = data.maps[0];
  let only = null;
  let places = [];

  const columns = el("div", { class: "map-and-groups" });
  const figure = el("figure");
  const groups = el("div");
  columns.append(figure, scroller("Table of groups", groups));
  place.append(columns);

  const drawing = chart(
    figure,
    "Training queries by their first two components, coloured by group",
    (width) => {
      const height = Math.round(Math.min(width * 0.9, 440));
      const x = scale(padded(map.x), [10, width - 10]);
      const y = scale(padded(map.y), [height - 10, 10]);
      places = map.x.map((value, i) => [x(value), y(map.y[i])]);
      const radius = Math.max(1.6, Math.min(4.5, 90 / Math.sqrt(places.length)));
      const marks = map.groups.map((_, group) => {
        const { colour, shape } = groupLooks(group);
        const members = places.filter((_, i) => map.group[i] === group);
        return svg("path", {
          class: `mark point${only !== null && only !== group ? " faint" : ""}`,
          "--c": colour,
          "data-group": group,
          d: members
            .map(([px, py]) => shape(Number(px.toFixed(1)), Number(py.toFixed(1)), radius))
            .join(""),
        });
      });
      if (only !== null) marks.push(...marks.splice(only, 1)); // on top of the others
      return {
        height,
        marks: [
          svg("rect", {
            class: "frame",
            x: 0.5,
            y: 0.5,
            width: width - 1,
            height: height - 1,
            rx: 6,
          }),
          ...marks,
        ],
      };
    },
  );

  function highlight(group) {
    only = only === group ? null : group;
    for (const button of groups.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(Number(button.dataset.group) === only));
    drawing.redraw();
  }

  function update() {
    map = data.maps[Number(select.value) || 0];
    only = null;
    groups.replaceChildren(groupTable(map, highlight));
    drawing.redraw();
  }

  track(drawing.host, (px, py) => {
    const index = nearest(places, px, py, 18);
    if (index < 0) return null;
    return factList(`Query ${map.ids[index]}`, [
      ["group", el("span", {}, swatch(groupLooks(map.group[index])), ` ${map.group[index] + 1}`)],
    ]);
  });
  select.addEventListener("change", update);
  update();
}
