// The page: the service and its models, the list, the request.

// The most characters of a body that the shown command holds.
const MAX_CURL = 100_000;

let token = "";
let models = [];
let reading = null;
let pending = null;
let timer = 0;

// ---- The service

class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The answer of the service. Throws a `Failure` with its message if it refuses. */
async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response, text;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The service does not answer.");
  }
  let answer = null;
  try {
    answer = parseJson(text);
  } catch {
    // A proxy may answer instead of the service, and not in JSON.
  }
  if (response.ok && answer) return answer;
  throw new Failure(response.status, answer?.error ?? `The answer has status ${response.status}.`);
}

/** Show the state and the models of the service. If it is not ready, look again soon. */
async function refresh() {
  clearTimeout(timer);
  const [ready, described] = await Promise.allSettled([ask("readyz"), ask("v1/models")]);
  const why = ready.reason;
  part("state").className = why ? "waiting" : "";
  part("state").textContent = !why
    ? "Ready: every model can answer."
    : why.status
      ? `Not ready: ${why.message}`
      : why.message;
  if (described.status === "fulfilled") showModels(described.value.models);
  else if (described.reason.status === 401) return askForToken();
  else if (!why) part("state").textContent = described.reason.message;
  if (why || described.reason) timer = setTimeout(refresh, 2000);
}

function askForToken() {
  tell("token-problem", token ? "The service does not accept this token." : "");
  token = "";
  part("door").hidden = false;
  part("main").hidden = true;
  part("token").focus();
}

// ---- Models

/** The model whose features a list must have: the chosen one, or the first if shares decide. */
const chosen = () => models.find(({ name }) => name === part("model").value) ?? models[0] ?? {};
const percent = (share) => `${short(100 * share)} %`;

function showModels(described) {
  models = described;
  const table = el(
    "table",
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["Name", "Version", "Method"].map((name) => heading(name)),
        ["Share", "Features"].map((name) => heading(name, null, "number")),
        heading("Trained on"),
        heading("Loaded"),
      ),
    ),
    el("tbody", {}, models.flatMap(modelRows)),
  );
  part("models").replaceChildren(scroller("Models", table));
  const select = part("model");
  const before = select.value;
  select.replaceChildren(
    el("option", { value: "" }, "By share"),
    ...models.map(({ name }) => el("option", { value: name }, name)),
  );
  select.value = models.some(({ name }) => name === before) ? before : "";
  if (part("main").hidden) {
    const entered = !part("door").hidden;
    part("door").hidden = true;
    part("main").hidden = false;
    if (entered) part("text").focus();
  }
  look();
}

function modelRows(model) {
  const { n_queries, n_documents } = model.training_data;
  const loaded = new Date(1000 * model.loaded_at);
  const row = el(
    "tr",
    {},
    el("th", { scope: "row" }, model.name, model.shadow ? el("small", {}, "shadow") : null),
    model.ready
      ? [
          el("td", {}, el("code", {}, model.version)),
          el("td", {}, model.method.split(".").at(-1)),
        ]
      : [el("td", {}, "not loaded"), el("td")],
    el("td", { class: "number" }, percent(model.share)),
    model.ready
      ? [
          el("td", { class: "number" }, model.n_features.toLocaleString("en")),
          el("td", {}, `${queries(n_queries)}, ${count(n_documents, "document")}`),
          el(
            "td",
            {},
            loaded.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
          ),
        ]
      : [el("td"), el("td"), el("td")],
  );
  const problem = model.problem
    ? el("tr", {}, el("td", { colspan: 7 }, el("p", { class: "problem" }, model.problem)))
    : null;
  return problem ? [row, problem] : [row];
}

// ---- The list

/** Read the pasted text, and say what it is or what is wrong with it. */
function look() {
  clearTimeout(look.timer);
  part("by-words").hidden = !chosen().takes_words;
  const text = part("text").value;
  const before = part("query").value;
  reading = null;
  let problem = null;
  try {
    if (text.trim()) reading = read(text, chosen());
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problem = error.message;
  }
  tell("text-problem", problem);
  part("text").setAttribute("aria-invalid", String(Boolean(problem)));
  const lists = reading?.lists ?? [];
  part("recognised").textContent = reading ? recognised() : "";
  part("query-label").hidden = lists.length < 2;
  part("query").replaceChildren(
    ...lists.map(({ request }, index) =>
      el("option", { value: index }, String(request.query ?? index)),
    ),
  );
  if (before in lists) part("query").value = before;
}

function recognised() {
  const { form, lists } = reading;
  const documents = lists.flatMap(({ request }) => documentsOf(request));
  const labelled = lists.some(({ labels }) => labels?.some((label) => label !== undefined));
  const facts = [count(documents.length, "document")];
  const features = documents[0]?.features;
  if (features && typeof features === "object")
    facts.push(count(Object.keys(features).length, "feature"));
  const runs = lists.length === 1 && lists[0].request.runs;
  if (runs) facts.push(count(Object.keys(runs).length, "list"));
  if (labelled) facts.push("labels");
  const several = lists.length > 1 ? ` ${queries(lists.length)}: choose one to rank.` : "";
  return `${form}: ${facts.join(", ")}.${several}`;
}

/** The words of a query, if the chosen model takes words. */
const wordsOf = () => (chosen().takes_words ? part("words").value.trim() : "");

/** A document with a vector, which has no place in a line of numbers. */
function asJson({ id, features, vector }, names) {
  const named = names ? Object.fromEntries(names.map((name, i) => [name, features[i]])) : features;
  return JSON.stringify({ id, vector, features: named });
}

/** Fill in the example of the chosen model: words of its index, or made-up documents. */
function example() {
  const { example: request, feature_names: names } = chosen();
  if (!request) return;
  part("words").value = request.query ?? "";
  const quoted = (name) => (/[",\s]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const line = names
    ? ({ id, features }) => [id, ...features].join(",")
    : ({ id, features }, row) =>
        `${row % 3} qid:1 ${features.map((x, i) => `${i + 1}:${x}`).join(" ")} # docid = ${id}`;
  const documents = request.documents ?? [];
  if (documents.some(({ vector }) => vector)) {
    part("text").value = `[\n${documents.map((each) => asJson(each, names)).join(",\n")}\n]\n`;
  } else {
    const lines = documents.map(line);
    if (names && lines.length) lines.unshift(["id", ...names.map(quoted)].join(","));
    part("text").value = lines.map((text) => `${text}\n`).join("");
  }
  part("text").scrollTo(0, 0);
  look();
}

// ---- The ranking

async function rank() {
  look();
  const words = wordsOf();
  const pasted = reading?.lists[part("query").value];
  if (!words && (!reading || pasted.byWords)) {
    if (!part("text").value.trim()) tell("text-problem", "Paste a list first.");
    else if (pasted) tell("text-problem", "These documents have texts: type the words of a query.");
    part(pasted ? "words" : "text").focus();
    tell("problem", "");
    return;
  }
  const list = !words
    ? pasted
    : pasted?.byWords
      ? { ...pasted, request: { query: words, ...pasted.request } }
      : { request: { query: words } };
  const name = part("model").value;
  const options = new URLSearchParams();
  if (part("top").value) options.set("top", part("top").value);
  if (part("explain").checked) options.set("explain", "true");
  const path = name ? `v1/models/${encodeURIComponent(name)}/rank` : "v1/rank";
  const asked = options.size ? `${path}?${options}` : path;
  const body = bodyOf(list);
  pending?.abort();
  const current = (pending = new AbortController());
  tell("problem", "");
  part("answer").replaceChildren();
  part("summary").textContent = "Ranking…";
  showCurl(asked, body);
  const began = performance.now();
  try {
    const answer = await ask(asked, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json" },
      signal: current.signal,
    });
    showRanking(answer, list, performance.now() - began);
    if (models.find((model) => model.name === answer.model)?.version !== answer.version) refresh();
  } catch (error) {
    if (error.name === "AbortError") return;
    part("summary").textContent = "";
    tell("problem", error.status ? `${error.message} (${error.status})` : error.message);
    if (error.status === 401) askForToken();
    else refresh();
  }
  // If the ranking is below the list, bring it into view.
  if (part("result").getBoundingClientRect().top > 0.6 * innerHeight)
    part("result").scrollIntoView();
}

// ---- The request

function showCurl(asked, body) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl ${quoted(new URL(asked, document.baseURI).href)}`];
  parts.push("-H 'Content-Type: application/json'");
  if (token) parts.push('-H "Authorization: Bearer $LOCALRANK_TOKEN"');
  const long = body.length > MAX_CURL;
  parts.push(long ? "--data-binary @list.json" : `--data-binary ${quoted(body)}`);
  part("curl").textContent = parts.join(" \\\n  ");
  part("copied").textContent = long ? "The list is long: save it as list.json." : "";
  part("request").hidden = false;
}

async function copy() {
  getSelection().selectAllChildren(part("curl"));
  try {
    await navigator.clipboard.writeText(part("curl").textContent);
    part("copied").textContent = "Copied.";
  } catch {
    // Browsers do not let pages without encryption write to the clipboard.
    part("copied").textContent = "Selected: copy it with Ctrl + C.";
  }
}

part("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = part("token").value.trim();
  part("token").value = "";
  if (/[^ -~]/.test(token)) askForToken();
  else refresh();
});
part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  rank();
});
part("form").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  rank();
});
part("text").addEventListener("input", () => {
  clearTimeout(look.timer);
  look.timer = setTimeout(look, 200);
});
part("model").addEventListener("change", look);
part("example").addEventListener("click", example);
part("copy").addEventListener("click", copy);
refresh();
