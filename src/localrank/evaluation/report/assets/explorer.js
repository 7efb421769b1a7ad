// The query explorer: the documents of one query as each method ranks them.

const explored = new Map((data.explorer?.queries ?? []).map((query) => [query.index, query]));
const shownAtFirst = 15;

/** Show a query and bring the explorer into view. */
function explore(index) {
  choose({ query: index });
  document.getElementById("explorer").scrollIntoView();
}

/** The rank of each document, from 0, by falling score; equal scores keep their order. A document
 * without a score was not retrieved. Long lists are here in part, and bring their ranks. */
function ranksOf({ scores, ranks }, name) {
  if (ranks) return ranks[name];
  const of = scores[name].map(() => null);
  scores[name]
    .map((_, i) => i)
    .filter((i) => known(scores[name][i]))
    .sort((a, b) => scores[name][b] - scores[name][a] || a - b)
    .forEach((document, rank) => (of[document] = rank));
  return of;
}

const topLabel = Math.max(
  1,
  ...[...explored.values()].flatMap(({ labels }) => Math.max(...labels)),
);

/** A document's label, darker where it is higher. */
function labelChip(label) {
  if (label < 0) return el("span", { class: "label label-unjudged", title: "not judged" }, "?");
  const step = label <= 0 ? 0 : Math.min(4, Math.max(1, Math.ceil((label / topLabel) * 4)));
  return el("span", { class: `label label-${step}`, title: `label ${label}` }, short(label));
}

function queryExplorer() {
  if (!explored.size) return;
  const order = [...explored.keys()];
  const everyId = new Map();
  for (const index of order)
    everyId.set(data.queries.ids[index], (everyId.get(data.queries.ids[index]) ?? 0) + 1);
  // An id that several folds share is shown with its fold.
  const nameOf = (index) =>
    everyId.get(data.queries.ids[index]) > 1
      ? `${data.queries.ids[index]} · ${data.queries.folds[index]}`
      : String(data.queries.ids[index]);
  const named = new Map(order.map((index) => [nameOf(index), index]));

  const search = el("input", {
    type: "search",
    list: "query-ids",
    autocomplete: "off",
    spellcheck: "false",
    dir: "auto",
    size: 14,
  });
  const status = el("span", { class: "status", role: "status" });
  const facts = el("p", { class: "summary", "aria-live": "polite" });
  const table = el("table", { class: "documents" });
  const more = el("button", { type: "button", hidden: true, onclick: () => showAll() });
  const step = (by) => () => {
    const at = order.indexOf(chosen.query);
    choose({ query: order[(at + by + order.length) % order.length] });
  };
  const extreme = (most) => () => {
    const list = differences(chosen.method, chosen.measure).filter(({ index }) =>
      explored.has(index),
    );
    if (list.length) choose({ query: list.at(most ? 0 : -1).index });
  };
  const part =
    explored.size < data.queries.ids.length
      ? ` ${explored.size.toLocaleString("en")} of the ${queriesText(data.queries.ids.length)} are in this report.`
      : "";
  const unjudged = [...explored.values()].some(({ labels }) => labels.some((label) => label < 0))
    ? " A “?” is a document that nobody judged."
    : "";
  const deepest = data.explorer.n_ranks ?? Infinity;
  const cutOff = [...explored.values()].some(({ ranks }) =>
    Object.values(ranks ?? {}).some((list) => list.some((rank) => rank >= deepest)),
  );
  const absent = [...explored.values()].some(({ scores }) =>
    Object.values(scores).some((list) => list.some((score) => !known(score))),
  );
  const about = [
    absent && ` “new”: ${apart(data.baseline)} does not have it.`,
    cutOff && ` Below rank ${deepest} are only relevant documents, and those that another ${words.method} has above it.`,
  ].filter(Boolean).join("");
  section(
    "explorer",
    "Query explorer",
    "Explorer",
    el(
      "p",
      { class: "note" },
      `The documents of one query, ranked by each ${words.method}. Coloured numbers are labels; arrows show how far a document moved from its rank by ${apart(data.baseline)}.${about} ` +
        `Point at a document, or use the arrow keys, to follow it across the ${nouns}.${part}${unjudged}`,
    ),
    el(
      "div",
      { class: "controls" },
      el("label", {}, "Query ", search),
      el(
        "datalist",
        { id: "query-ids" },
        order.map((index) => el("option", { value: nameOf(index) })),
      ),
      el("button", { type: "button", onclick: step(-1) }, "‹ Previous"),
      el("button", { type: "button", onclick: step(1) }, "Next ›"),
      others.length
        ? [
            chooser(
              capital(words.method),
              "method",
              others.map(({ name }) => name),
            ),
            el("button", { type: "button", onclick: extreme(true) }, "Largest gain"),
            el("button", { type: "button", onclick: extreme(false) }, "Largest loss"),
          ]
        : null,
      status,
    ),
    facts,
    scroller("Documents by method", table),
    el("p", {}, more),
  );

  function find() {
    const text = search.value.trim();
    const names = [...named.keys()];
    const match = named.has(text)
      ? text
      : (names.find((name) => name.startsWith(text)) ?? names.find((name) => name.includes(text)));
    status.textContent = match === undefined ? `No query here has the id “${apart(text)}”.` : "";
    if (match !== undefined && text) choose({ query: named.get(match) });
    if (match !== undefined) search.value = nameOf(chosen.query);
  }
  search.addEventListener("change", find);

  const columnsOf = (query) => {
    const names = working.map(({ name }) => name).filter((name) => query.scores[name]);
    // The baseline and the chosen method stand side by side.
    const place = (name) => (name === data.baseline ? 2 : name === chosen.method ? 1 : 0);
    return names.sort((a, b) => place(b) - place(a));
  };

  function heading(query, name) {
    const value = data.queries.values[name]?.[chosen.measure]?.[query.index];
    const base = data.queries.values[data.baseline]?.[chosen.measure]?.[query.index];
    const gap = known(value) && known(base) ? (value - base) * direction(chosen.measure) : 0;
    const group = query.groups?.[name];
    return el(
      "th",
      { scope: "col", class: name === chosen.method ? "current" : null },
      el("span", { class: "method-name" }, swatch(methodLooks.get(name)), ` ${name}`),
      el(
        "small",
        {},
        known(value) ? `${chosen.measure} ${decimals(value, 3)}` : `${chosen.measure} skips it`,
        name !== data.baseline && known(value) && known(base)
          ? el(
              "span",
              { class: gap > 0 ? "gain" : gap < 0 ? "loss" : "" },
              ` ${signed(value - base, 3)}`,
            )
          : null,
      ),
      known(group) ? el("small", {}, `served by group ${group + 1}`) : null,
    );
  }

  function fill(limit = shownAtFirst) {
    const query = explored.get(chosen.query);
    const names = columnsOf(query);
    const orders = names.map((name) => {
      const order = [];
      ranksOf(query, name).forEach((rank, document) => known(rank) && (order[rank] = document));
      return order;
    });
    const before = new Map(
      (names.includes(data.baseline) ? ranksOf(query, data.baseline) : [])
        .map((rank, document) => [document, rank])
        .filter(([, rank]) => known(rank)),
    );
    const places = [...new Set(orders.flatMap((order) => Object.keys(order).map(Number)))];
    places.sort((a, b) => a - b);
    const cell = (name, document, rank) => {
      if (document === undefined) return el("td", { class: "none" });
      const isNew = before.size > 0 && !before.has(document);
      const moved =
        name === data.baseline || !before.has(document) ? 0 : before.get(document) - rank;
      const title = query.titles?.[document];
      return el(
        "td",
        {
          "data-document": document,
          tabindex: -1,
          title:
            `${query.documents[document]}: score ${query.scores[name][document]}` +
            (title ? `\n${title}` : ""),
        },
        el(
          "span",
          { class: "document" },
          labelChip(query.labels[document]),
          el("span", { class: "document-id" }, query.documents[document]),
          moved
            ? el("span", { class: "moved" }, `${moved > 0 ? "↑" : "↓"}${Math.abs(moved)}`)
            : null,
          isNew
            ? el("span", { class: "moved", title: `${data.baseline} does not have it here` }, "new")
            : null,
        ),
        title ? el("small", { class: "document-title" }, title) : null,
      );
    };
    const rows = [];
    for (const rank of places.slice(0, limit)) {
      rows.push(
        el(
          "tr",
          {},
          el("th", { scope: "row" }, String(rank + 1)),
          names.map((name, i) => cell(name, orders[i][rank], rank)),
        ),
      );
    }
    table.replaceChildren(
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Rank"),
          names.map((name) => heading(query, name)),
        ),
      ),
      el("tbody", {}, rows),
    );
    table.querySelector("td")?.setAttribute("tabindex", 0);
    more.hidden = places.length <= limit;
    more.textContent = `Show all ${places.length.toLocaleString("en")} ${query.ranks ? "ranks" : "documents"}`;
    const { n_documents: sizes, n_relevant: relevant } = data.queries;
    const text = query.text ? ` “${apart(query.text)}”` : "";
    facts.textContent = `${queryName(query.index)}${text} · ${count(sizes[query.index], "document")}, ${relevant[query.index].toLocaleString("en")} relevant`;
    search.value = nameOf(query.index);
    status.textContent = "";
  }
  const showAll = () => fill(Infinity);

  // A document is followed across the columns.
  const follow = (target) => {
    const document = target?.closest?.("td")?.dataset.document;
    for (const node of table.querySelectorAll("td.same")) node.classList.remove("same");
    if (document === undefined) return;
    for (const node of table.querySelectorAll(`td[data-document="${document}"]`))
      node.classList.add("same");
  };
  table.addEventListener("pointerover", (event) => follow(event.target));
  table.addEventListener("pointerleave", () => follow(null));
  table.addEventListener("focusin", (event) => follow(event.target));
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    const [down, right] = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
    }[event.key] ?? [0, 0];
    if (!cell || (!down && !right)) return;
    event.preventDefault();
    const next = table.rows[cell.parentNode.rowIndex + down]?.cells[cell.cellIndex + right];
    if (next?.tagName !== "TD") return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  watch(["query", "measure", "method"], () => fill());
  choose({ query: order[0] });
}
