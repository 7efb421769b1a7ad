// Shows the ranking of a list, and its explanation.

// The most rows that are shown at first, the most documents that are explained, and the most
// features of each.
const MAX_ROWS = 200;
const MAX_EXPLAINED = 20;
const MAX_FEATURES_SHOWN = 4;

function showRanking(answer, list, ms) {
  const { ranking, n_documents, model, version, query, explanation } = answer;
  const shown = ranking.length < n_documents ? `The first ${ranking.length} of ` : "";
  const named = ofIndex(list) ? ["“", el("bdi", {}, String(query)), "”"] : [el("bdi", {}, String(query))];
  const of = query === null ? [] : [" of query ", ...named];
  part("summary").replaceChildren(
    `${shown}${count(n_documents, "document")}`,
    ...of,
    " ranked by ",
    el("strong", {}, model),
    ", version ",
    el("code", {}, version),
    `, in ${duration(ms)}.`,
  );
  if (!n_documents) {
    part("summary").append(" No document in the index contains a word of the query.");
    part("answer").replaceChildren();
    return;
  }
  const groups = explanation?.groups ?? [];
  const columns = [
    ...groups.map(({ group, weight, scores }) => ({
      name: groupName(group),
      small: weight > 0 ? `weight ${weight.toFixed(2)}` : "not used",
      scores,
    })),
    ...(explanation?.models ?? []).map(({ model: name, scores }, index) => ({
      name: `Model ${index + 1}`,
      small: name,
      scores,
    })),
  ];
  part("answer").replaceChildren(
    ...(groups.length ? [served(groups, explanation.neighbours)] : []),
    ...documentTable(answer, list, columns),
    ...notes(explanation, groups.length ? "Group" : columns.length ? "Model" : null).map((text) =>
      el("p", { class: "note" }, text),
    ),
    ...(explanation?.contributions.length ? [decisive(answer)] : []),
    ...(explanation?.near_documents.length ? [neighbouring(answer)] : []),
  );
}

/** Whether the documents come from the index of the model. */
const ofIndex = ({ request }) => !request.documents && !request.runs;

/** An id, which may be cut: pointing at it shows the whole. */
const idCell = (id) => el("th", { scope: "row", title: String(id) }, el("bdi", {}, String(id)));

/** What the columns of an explanation mean, and why features are not among them. */
function notes(explanation, column) {
  const told = column ? [`${column} columns: the rank of each document by this model alone.`] : [];
  return explanation?.no_contributions ? [...told, explanation.no_contributions] : told;
}

/** The features that contribute most to the scores of the first documents. */
function decisive({ ranking, explanation }) {
  const most = Math.max(...ranking.map(({ score }) => Math.abs(score)));
  // What is left of sums that cancel is rounding.
  const base = Math.abs(explanation.base) > 1e-9 * most ? explanation.base : 0;
  const ids = new Map(ranking.map(({ id, index }) => [index, id]));
  const line = ({ index, contributions, others }) => {
    const shown = contributions.slice(0, MAX_FEATURES_SHOWN);
    const rest = contributions
      .slice(MAX_FEATURES_SHOWN)
      .reduce((sum, { value }) => sum + value, others);
    const told = shown.map(({ feature, value }) => reason(value, feature));
    if (Math.abs(rest) > 1e-9 * Math.abs(shown[0]?.value ?? 0)) told.push(reason(rest, "others"));
    return el("tr", {}, idCell(ids.get(index)), el("td", {}, told));
  };
  return el(
    "div",
    { class: "why" },
    el("h3", {}, "Features that contribute most"),
    el(
      "p",
      { class: "note" },
      "What a feature adds to the score, compared with the mean document of the list, whose " +
        `score is ${short(base)}.`,
    ),
    el(
      "table",
      { class: "plain" },
      el("tbody", {}, explanation.contributions.slice(0, MAX_EXPLAINED).map(line)),
    ),
  );
}

/** The documents of the list that move the first ones most. */
function neighbouring({ ranking, explanation }) {
  const ids = new Map(ranking.map(({ id, index }) => [index, id]));
  const name = (index) => String(ids.get(index) ?? `document ${index + 1}`);
  const line = ({ index, neighbours, others }) => {
    const most = [...neighbours].sort((a, b) => Math.abs(b.moved) - Math.abs(a.moved));
    const rest = most.slice(MAX_FEATURES_SHOWN).reduce((sum, { moved }) => sum + moved, others);
    const told = most
      .slice(0, MAX_FEATURES_SHOWN)
      .map((near) => reason(near.moved, `${name(near.index)} (cosine ${near.cosine.toFixed(2)})`));
    if (Math.abs(rest) > 1e-9 * Math.abs(most[0]?.moved ?? 0)) told.push(reason(rest, "others"));
    if (!told.length) told.push("No document of the list is like it.");
    return el("tr", {}, idCell(name(index)), el("td", {}, told));
  };
  return el(
    "div",
    { class: "why" },
    el("h3", {}, "Neighbours that move a document most"),
    el("p", { class: "note" }, `What a similar document of the list adds to ${explanation.moved}.`),
    el(
      "table",
      { class: "plain" },
      el("tbody", {}, explanation.near_documents.slice(0, MAX_EXPLAINED).map(line)),
    ),
  );
}

const reason = (value, name) =>
  el(
    "span",
    { class: "reason" },
    el("span", { class: value > 0 ? "gain" : "loss" }, signed(value)),
    ` ${name}`,
  );
const signed = (value) => `${value > 0 ? "+" : ""}${minus(Number(value.toPrecision(3)).toString())}`;

const groupName = (group) => `Group ${group + 1}`;

/** The groups of training queries that serve the list, and its nearest training queries. */
function served(groups, neighbours) {
  const used = groups.filter(({ weight }) => weight > 0);
  const line = (name, share, text) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, bar(share)), el("td", {}, text));
  const table = (title, rows) =>
    el("div", {}, el("h3", {}, title), el("table", { class: "plain" }, el("tbody", {}, rows)));
  return el(
    "div",
    { class: "served" },
    table(
      used.length === 1
        ? `Served by group ${used[0].group + 1}`
        : `Served by ${used.length} groups`,
      groups.map(({ group, weight, n_queries }) =>
        line(groupName(group), weight, `weight ${weight.toFixed(2)}, ${queries(n_queries)}`),
      ),
    ),
    table(
      "Nearest training queries",
      neighbours.map(({ query, group, similarity }) =>
        line(String(query), similarity, `similarity ${similarity.toFixed(2)}, group ${group + 1}`),
      ),
    ),
  );
}

/** The rank of each document by its score. Equal scores keep the order of the list. */
function ranksBy(scores) {
  const order = scores.map((_, index) => index).sort((a, b) => scores[b] - scores[a] || a - b);
  const ranks = [];
  order.forEach((index, place) => (ranks[index] = place + 1));
  return ranks;
}

function documentTable({ ranking, n_documents }, list, columns) {
  const titled = list.titles?.some((title) => title !== undefined && title !== "");
  const labelled = list.labels?.some((label) => label !== undefined);
  const highest = Math.max(...(list.labels ?? []).map((label) => Number(label) || 0));
  const scores = ranking.map(({ score }) => score);
  const low = Math.min(...scores);
  const range = Math.max(...scores) - low || 1;
  const largest = Math.max(...scores.map(Math.abs)) || 1;
  const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(largest))));
  const ranks = columns.map((column) => ranksBy(column.scores));
  const share = (rank) => (n_documents > 1 ? 1 - (rank - 1) / (n_documents - 1) : 1);
  const more = el("button", { type: "button" }, `Show all ${ranking.length.toLocaleString("en")}`);
  more.hidden = ranking.length <= MAX_ROWS;
  const moved = (by) =>
    el(
      "span",
      { class: by > 0 ? "gain" : by < 0 ? "loss" : "same" },
      by > 0 ? `↑${by}` : by < 0 ? `↓${-by}` : "=",
    );
  const head = el(
    "thead",
    {},
    el(
      "tr",
      {},
      heading("Rank", null, "number"),
      heading("Document"),
      titled ? heading("Title") : null,
      // Documents of the index come in the order of BM25.
      heading(ofIndex(list) ? "By BM25" : "Before", null, "number"),
      heading("Score", null, "number"),
      labelled ? heading("Label", null, "number") : null,
      columns.map(({ name, small }) => heading(name, small, "number")),
    ),
  );
  const row = ({ id, index, score }, place) =>
    el(
      "tr",
      {},
      el("td", { class: "number" }, String(place + 1)),
      idCell(id),
      titled ? el("td", { class: "title" }, String(list.titles[index] ?? "")) : null,
      el("td", { class: "number" }, `${index + 1} `, moved(index - place)),
      el("td", { class: "number" }, minus(score.toFixed(digits)), bar((score - low) / range)),
      labelled ? el("td", { class: "number" }, labelChip(list.labels[index], highest)) : null,
      ranks.map((each) =>
        el("td", { class: "number place", "--share": share(each[index]) }, String(each[index])),
      ),
    );
  const rows = el("tbody", {}, ranking.slice(0, MAX_ROWS).map(row));
  more.addEventListener("click", () => {
    more.hidden = true;
    rows.replaceChildren(...ranking.map(row));
  });
  return [scroller("Ranked documents", el("table", { class: "documents" }, head, rows)), more];
}

/** A document's label. Higher labels are darker. */
function labelChip(label, most) {
  const step = label > 0 ? Math.min(4, Math.max(1, Math.ceil((4 * label) / most))) : 0;
  return el("span", { class: `label label-${step}` }, String(label ?? "–"));
}
