// The table of methods.

/** Wins, ties and losses. */
const record = (test) =>
  test ? [test.wins, test.ties, test.losses].join("\u2009/\u2009") : missing;

const isSignificant = (test) => known(test?.p) && test.p < 0.05;

/**
 * gain or loss where the corrected p-value is below 0.05, else nothing. A difference above 0 is an
 * improvement, also where smaller values are better.
 */
function tone(test) {
  if (!isSignificant(test)) return "";
  return test.difference > 0 ? "gain" : "loss";
}

const hasInterval = (test) => known(test.low) && known(test.high);
const interval = (test) =>
  hasInterval(test) ? `[${signed(test.low)}, ${signed(test.high)}]` : "no interval";

function differenceCell(test) {
  if (!test) return [missing];
  const arrow = { gain: " ▲", loss: " ▼", "": "" }[tone(test)];
  return [
    el("span", { class: `number ${tone(test)}` }, signed(test.difference), arrow),
    el("small", {}, interval(test)),
  ];
}

/** Intervals of all rows share one scale, so that their lengths compare. */
function intervalPlot(test, reach) {
  if (!test) return [missing];
  const x = scale([-reach, reach], [6, 72]);
  const across = (from, to) => Math.max(2, Math.abs(x(to) - x(from)));
  return [
    svg(
      "svg",
      {
        class: `range ${tone(test)}`,
        viewBox: "0 0 78 22",
        width: 78,
        height: 22,
        role: "img",
        "aria-label": `${signed(test.difference)}, 95 % interval ${interval(test)}`,
      },
      svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 22 }),
      hasInterval(test) &&
        svg("rect", {
          class: "bar-range",
          x: x(test.low),
          y: 9,
          width: across(test.low, test.high),
          height: 4,
          rx: 2,
        }),
      svg("circle", {
        class: isSignificant(test) ? "dot" : "dot open",
        cx: x(test.difference),
        cy: 11,
        r: 4.5,
      }),
    ),
  ];
}

/** Columns: title, sort key and cell. Numbers sort downwards first, unless `upwards` is set. */
function columns() {
  const { measure } = chosen;
  const against = (method) => method.against_baseline?.[measure];
  const equal = (method) => method.at_equal_cost?.[measure];
  const tests = working.map(against).filter(Boolean);
  // Runs come without their cost.
  const hasCosts = working.some((method) => method.n_models);
  const reach = Math.max(
    1e-9,
    ...tests.flatMap(({ difference, low, high }) =>
      [difference, low ?? 0, high ?? 0].map(Math.abs),
    ),
  );
  const best = (name) => {
    const sign = direction(name);
    return sign * Math.max(...working.map(({ means }) => sign * (means[name] ?? -Infinity * sign)));
  };
  return [
    ...measures.map((name) => ({
      title: name,
      upwards: direction(name) < 0,
      key: (method) => method.means[name],
      class: name === measure ? "number current" : "number",
      cell: (method) => [
        known(method.means[name]) && method.means[name] === best(name)
          ? el("strong", { title: "best of this column" }, decimals(method.means[name]))
          : decimals(method.means[name]),
      ],
    })),
    {
      title: `Difference in ${measure}`,
      hint: `to ${apart(data.baseline)}`,
      key: (method) => against(method)?.difference,
      cell: (method) => differenceCell(against(method)),
    },
    {
      title: "Interval",
      hint: `±${decimals(reach, 3)}`,
      key: (method) => against(method)?.low,
      cell: (method) => intervalPlot(against(method), reach),
    },
    {
      title: "p",
      hint: "Holm",
      upwards: true,
      class: "number",
      key: (method) => against(method)?.p,
      cell: (method) => [pValue(against(method)?.p)],
    },
    {
      title: "Queries",
      hint: "won / tied / lost",
      class: "number",
      key: (method) => against(method) && against(method).wins - against(method).losses,
      cell: (method) => [record(against(method))],
    },
    working.some(equal) && {
      title: "At equal cost",
      hint: "against the opponent",
      key: (method) => equal(method)?.difference,
      cell: (method) => {
        const test = equal(method);
        if (!test) return [missing];
        const [difference, range] = differenceCell(test);
        return [
          el(
            "span",
            { class: "number" },
            difference,
            el("span", { class: "p-value" }, ` p ${pValue(test.p)}`),
          ),
          range,
          el("small", { class: "against" }, `to ${apart(method.opponent)}`),
        ];
      },
    },
    hasCosts && {
      title: "Models",
      class: "number",
      upwards: true,
      key: (method) => method.n_models,
      cell: (method) => [short(method.n_models)],
    },
    hasCosts && {
      title: "Training",
      hint: "CPU",
      class: "number",
      upwards: true,
      key: (method) => method.train_cpu_seconds,
      cell: (method) => [duration(method.train_cpu_seconds)],
    },
    hasCosts && {
      title: "Ranking",
      hint: "ms a query",
      class: "number",
      upwards: true,
      key: (method) => method.milliseconds_per_query,
      cell: (method) => [short(method.milliseconds_per_query)],
    },
    hasCosts && {
      title: "Size",
      class: "number",
      upwards: true,
      key: (method) => method.model_bytes,
      cell: (method) => [bytes(method.model_bytes)],
    },
  ].filter(Boolean);
}

/** Behind a method's name: its summary, its parameters, and the choices of tuning. */
function details(method) {
  const folds = [...new Set(data.queries?.folds ?? [])];
  const choices = (method.chosen ?? []).map((choice, i) =>
    method.chosen.length === folds.length ? [folds[i], choice] : [`fold ${i + 1}`, choice],
  );
  return [
    el("p", {}, method.summary || "No description."),
    el(
      "dl",
      { class: "facts-list" },
      Object.entries(method.parameters ?? {})
        .concat(choices.map(([fold, choice]) => [`chosen in ${fold}`, choice]))
        .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
  ];
}

/** What the columns and marks of the table mean. */
function tableKey() {
  const hasRole = (role) => working.some((method) => method.role === role);
  return el(
    "ul",
    {},
    [
      `Difference: the mean over queries of the ${words.method}'s value minus that of ${apart(data.baseline)}, with its 95 % interval. All intervals are drawn on one scale, around 0.`,
      data.smaller_is_better?.length &&
        `${data.smaller_is_better.join(", ")}: smaller is better, and the difference has its sign turned, so that an improvement is above 0.`,
      `▲ better and ▼ worse: p is below 0.05, corrected by Holm's rule for the number of ${nouns}. The dot of the interval is then filled.`,
      working.some((method) => method.at_equal_cost) &&
        "At equal cost: the difference to the method's opponent, which has the same number of models. Where two opponents were trained, it is the stronger one. A method of one model has the baseline as its opponent.",
      hasRole("reseeded") &&
        "Second seed: the baseline, trained again with another seed. A difference as small as this one is chance.",
      working.some((method) => method.n_models) && "Training is the CPU time of all folds.",
    ]
      .filter(Boolean)
      .map((text) => el("li", {}, text)),
  );
}

function comparisonTable() {
  const sorted = { column: null, descending: true };
  const table = el("table", { class: "methods" });
  const place = section(
    "methods",
    capital(nouns),
    capital(nouns),
    el(
      "p",
      { class: "note" },
      words.method === "run"
        ? "All runs are measured on the same judged queries. Click a heading to sort, or a name to see what the run has."
        : "All methods are trained and tested on the same queries. Click a heading to sort, or a name to see its parameters.",
    ),
    folded("How to read this table", tableKey()),
    scroller(`Table of ${nouns}`, table),
  );

  // Each method has one body, so that its row and its details stay together.
  const bodies = working.map((method) => {
    const row = el("tr");
    const more = el("tr", { class: "details", hidden: true });
    const button = el(
      "button",
      { type: "button", class: "plain", "aria-expanded": "false" },
      swatch(methodLooks.get(method.name)),
      el("span", { class: "method" }, method.name),
    );
    button.addEventListener("click", () => {
      more.hidden = !more.hidden;
      button.setAttribute("aria-expanded", String(!more.hidden));
    });
    const tag = { baseline: "baseline", reseeded: "second seed", opponent: "opponent" }[method.role];
    const head = el("th", { scope: "row" }, button, el("span", { class: "tag" }, tag ?? method.kind));
    return {
      method,
      row,
      more,
      head,
      body: el("tbody", { "data-method": method.name }, row, more),
    };
  });

  function fill() {
    const list = columns();
    const sort = (title) => {
      const column = list.find((item) => item.title === title);
      const first = title === capital(words.method) ? false : !column.upwards;
      const descending = sorted.column === title ? !sorted.descending : first;
      Object.assign(sorted, { column: title, descending });
      fill();
      [...table.querySelectorAll("thead button")]
        .find((button) => button.dataset.title === title)
        ?.focus();
    };
    const header = ({ title, hint, class: style }) => {
      const state =
        sorted.column !== title ? "none" : sorted.descending ? "descending" : "ascending";
      const arrow = { none: "", descending: "\u00a0↓", ascending: "\u00a0↑" }[state];
      return el(
        "th",
        { scope: "col", "aria-sort": state, class: style ?? null },
        el(
          "button",
          { type: "button", class: "plain", "data-title": title, onclick: () => sort(title) },
          el("span", {}, title, el("span", { "aria-hidden": "true" }, arrow)),
        ),
        hint ? el("small", {}, hint) : null,
      );
    };
    for (const { method, row, more, head } of bodies) {
      row.replaceChildren(
        head,
        ...list.map((column) => el("td", { class: column.class }, ...column.cell(method))),
      );
      more.replaceChildren(
        el("td", { colspan: list.length + 1 }, el("div", {}, ...details(method))),
      );
    }
    const key =
      sorted.column === capital(words.method)
        ? (method) => method.name
        : list.find(({ title }) => title === sorted.column)?.key;
    if (sorted.column && !key) sorted.column = null; // its measure is no longer the chosen one
    const order = [...bodies];
    if (key) {
      const sign = sorted.descending ? -1 : 1;
      order.sort(({ method: a }, { method: b }) => {
        const [left, right] = [key(a), key(b)];
        if (!known(left) || !known(right)) return known(right) - known(left);
        return sign * (typeof left === "string" ? left.localeCompare(right, "en") : left - right);
      });
    }
    table.replaceChildren(
      el("thead", {}, el("tr", {}, header({ title: capital(words.method) }), ...list.map(header))),
      ...order.map(({ body }) => body),
    );
  }

  fill();
  watch(["measure"], fill);

  const unequal = data.cost_notes ?? [];
  if (unequal.length) {
    place.append(
      el(
        "div",
        { class: "unequal", role: "note" },
        folded(
          `Same number of models, different cost: ${count(unequal.length, "note")}`,
          el(
            "ul",
            {},
            unequal.map((note) => el("li", {}, note)),
          ),
        ),
      ),
    );
  }

  const failed = methods.filter((method) => method.failed);
  if (failed.length) {
    place.append(
      el(
        "div",
        { class: "failed", role: "note" },
        el("h3", {}, `${count(failed.length, words.method)} failed`),
        el(
          "ul",
          {},
          failed.map((method) => el("li", {}, el("strong", {}, method.name), `: ${method.failed}`)),
        ),
      ),
    );
  }
}
