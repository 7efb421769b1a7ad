// Reads pasted text in any form as lists of documents.

/** Why the pasted text cannot be read. */
class Unreadable extends Error {}

const fault = (line, why) => new Unreadable(`Line ${line}: ${why}`);

/** The documents of a request. Lists of retrievers are counted one after another. */
const documentsOf = ({ documents, runs }) =>
  documents ?? [
    ...new Map(Object.values(runs).flatMap((run) => run.map((each) => [each?.id, each]))).values(),
  ];

/** The form of a text, and for each of its queries a request of the API and the labels. */
function read(pasted, model) {
  const found = readAny(pasted.replace(/^\ufeff/, ""), model);
  if (!found.lists.some(({ request }) => documentsOf(request).length))
    throw new Unreadable("The list has no documents.");
  return found;
}

function readAny(text, model) {
  const first = text.split("\n").find((line) => line.trim() && !line.trim().startsWith("#")) ?? "";
  if (/^\s*[[{]/.test(first)) return readJson(text, model);
  if (/^\s*\S+\s+qid:/.test(first)) return readLetor(text, model);
  return readTable(text, model);
}

/** The body of the request that ranks a list. */
const bodyOf = ({ request, text }) => text ?? JSON.stringify(request);

function byQuery(rows, names) {
  const whole = rows.every(({ query }) => /^(0|-?[1-9]\d{0,14})$/.test(query));
  const lists = new Map();
  for (const { query: written, id, label, title, vector, features } of rows) {
    const query = whole ? Number(written) : written;
    if (!lists.has(query)) {
      const request = { query, feature_names: names, documents: [] };
      lists.set(query, { request, labels: [], titles: [] });
    }
    const list = lists.get(query);
    list.request.documents.push({ id, features, vector });
    list.labels.push(label);
    list.titles.push(title);
  }
  return [...lists.values()];
}

const ROLES = {
  id: "id",
  query: "query",
  qid: "query",
  label: "label",
  title: "title",
  vector: "vector",
};

/** The role of a column or key: id, query, label, title or vector. null: it is a feature. */
function roleOf(name, model) {
  if (model.feature_names?.includes(name)) return null;
  return ROLES[name.toLowerCase()] ?? null;
}

/** Whether documents with these keys have texts that the model ranks by words, not features. */
const haveTexts = (names, model) =>
  names.some((name) => model.document_keys?.includes(name)) &&
  !names.some((name) => model.feature_names?.includes(name));

/** A list of documents with texts. The first text stands for a title if there is none. */
function ofTexts(form, documents, model) {
  const keys = ["title", ...model.document_keys];
  const titles = documents.map((document) => document[keys.find((key) => document[key])]);
  return { form, lists: [{ request: { documents }, titles, byWords: true }] };
}

/** A finite number. null: the value is missing. undefined: the text is not a number. */
function numberOf(written) {
  const text = written.trim();
  if (/^(nan|null|na|)$/i.test(text)) return null;
  const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) ? number : undefined;
}

// ---- JSON

/** Ids with many digits stay as they are written: JavaScript would round them. */
const parseJson = (text) =>
  JSON.parse(text, (key, value, context) =>
    /^(id|query|qid)$/.test(key) && typeof value === "number" && !Number.isSafeInteger(value)
      ? (context?.source ?? value)
      : value,
  );

function readJson(text, model) {
  let value;
  try {
    value = parseJson(text);
  } catch {
    const at = jsonFault(text);
    const rest = text.slice(at).split("\n")[0].slice(0, 20).trim();
    throw fault(
      text.slice(0, at).split("\n").length,
      rest ? `JSON cannot go on with “${rest}”.` : "the JSON ends too early.",
    );
  }
  if (Array.isArray(value)) return readArray(value, model);
  if (isRequest(value)) {
    const titles = value.documents?.map((document) => document?.title);
    return { form: "JSON request", lists: [{ request: value, text, titles }] };
  }
  if (!Array.isArray(value.lists)) throw new Unreadable('The object lacks "documents" or "runs".');
  const bad = value.lists.findIndex((list) => !isRequest(list));
  if (bad >= 0) throw new Unreadable(`lists[${bad}] lacks "documents" or "runs".`);
  return { form: "JSON batch", lists: value.lists.map((request) => ({ request })) };
}

/** Whether an object has documents, or lists of retrievers. */
const isRequest = (value) =>
  Array.isArray(value?.documents) ||
  (value?.documents === undefined &&
    value?.runs !== null &&
    typeof value?.runs === "object" &&
    Object.values(value.runs).every(Array.isArray));

function readArray(items, model) {
  if (items.length && items.every((item) => haveTexts(Object.keys(item ?? {}), model)))
    return ofTexts("JSON array of texts", items, model);
  const rows = items.map((item, number) => {
    if (Array.isArray(item)) return { features: item };
    if (item === null || typeof item !== "object")
      throw new Unreadable(`[${number}] is neither a row nor an object.`);
    const row = {};
    const rest = [];
    for (const [name, value] of Object.entries(item)) {
      const role = roleOf(name, model);
      if (role) row[role] = value;
      else rest.push([name, value]);
    }
    const named = rest.length === 1 && rest[0][0] === "features";
    return { ...row, features: named ? rest[0][1] : Object.fromEntries(rest) };
  });
  const form = Array.isArray(items[0]) ? "JSON array of rows" : "JSON array of objects";
  return { form, lists: byQuery(rows) };
}

/** The position where a text stops being JSON. Not every browser reports it. */
function jsonFault(text) {
  const string = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
  const other = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
  let at = 0;
  const eat = (pattern) =>
    [/[ \t\r\n]*/y, pattern].every((part) => {
      part.lastIndex = at;
      const matches = part.test(text);
      if (matches) at = part.lastIndex;
      return matches;
    });
  const items = (end, item) => {
    if (eat(end)) return true;
    do if (!item()) return false;
    while (eat(/,/y));
    return eat(end);
  };
  const value = () => {
    if (eat(/\{/y)) return items(/\}/y, () => eat(string) && eat(/:/y) && value());
    return eat(/\[/y) ? items(/\]/y, value) : eat(string) || eat(other);
  };
  value();
  eat(/(?:)/y);
  return at;
}

// ---- CSV and TSV

function readTable(text, model) {
  const head = text.trim().split("\n")[0];
  const separator = ["\t", ";", ","].reduce((a, b) =>
    head.split(b).length > head.split(a).length ? b : a,
  );
  const [header, ...records] = recordsOf(text, separator);
  const names = header.fields;
  names.forEach((name, column) => {
    if (!name) throw fault(header.line, `column ${column + 1} has no name.`);
    if (names.indexOf(name) < column) throw fault(header.line, `column “${name}” appears twice.`);
  });
  if (names.every((name) => typeof numberOf(name) === "number") && !names.every((name) => /^\d+$/.test(name)))
    throw fault(header.line, "the first line must hold the names of the columns.");
  if (names.length === 1 && !records.length)
    throw fault(header.line, "this is not CSV with a header, LETOR lines or JSON.");
  if (!records.length) throw fault(header.line, "no document follows the header.");
  const form = { "\t": "TSV", ",": "CSV", ";": "CSV with semicolons" }[separator];
  const texts = haveTexts(names, model);
  const roles = names.map((name) =>
    texts && (name === "id" || model.document_keys.includes(name)) ? name : roleOf(name, model),
  );
  const rows = records.map(({ line, fields }) => {
    if (fields.length !== names.length)
      throw fault(line, `the header has ${names.length} columns. Got ${fields.length} instead.`);
    const row = texts ? {} : { features: [] };
    fields.forEach((field, column) => {
      if (roles[column]) {
        row[roles[column]] = field;
        return;
      }
      const number = numberOf(field);
      if (number === undefined)
        throw fault(line, `“${field}” in column “${names[column]}” is not a number.`);
      if (texts) row[names[column]] = number;
      else row.features.push(number);
    });
    return row;
  });
  if (texts) return ofTexts(form, rows, model);
  const features = names.filter((_, column) => !roles[column]);
  // A model without feature names takes the columns in the given order.
  return { form, lists: byQuery(rows, model.feature_names ? features : undefined) };
}

/** The records of a table, with the lines where they begin. Fields may be quoted. */
function recordsOf(text, separator) {
  const pattern = new RegExp(
    `[ ]*(?:"([^"]*(?:""[^"]*)*)"[ ]*|([^"${separator}\\r\\n][^${separator}\\r\\n]*)?)(${separator}|\\r?\\n)`,
    "y",
  );
  const whole = `${text}\n`;
  const records = [];
  let record = { line: 1, fields: [] };
  let line = 1;
  while (pattern.lastIndex < whole.length) {
    const match = pattern.exec(whole);
    if (!match) throw fault(line, "a quoted field does not end, or a quote is inside a field.");
    record.fields.push(match[1]?.replaceAll('""', '"') ?? (match[2] ?? "").trim());
    line += match[0].split("\n").length - 1;
    if (match[3] === separator) continue;
    if (record.fields.some(Boolean)) records.push(record);
    record = { line, fields: [] };
  }
  return records;
}

// ---- LETOR

const MAX_FEATURES = 100_000;

function readLetor(text, model) {
  const most = model.n_features ?? MAX_FEATURES;
  let width = model.n_features ?? 0;
  const rows = [];
  text.split("\n").forEach((written, index) => {
    const line = index + 1;
    const [values, ...comment] = written.trim().split("#");
    if (!values) return;
    const [label, query, ...pairs] = values.trim().split(/\s+/);
    if (!query?.startsWith("qid:")) throw fault(line, "qid:… must follow the label.");
    if (typeof numberOf(label) !== "number") throw fault(line, `the label “${label}” is not a number.`);
    const features = new Map();
    for (const pair of pairs) {
      const [, feature, value] = /^(\d+):(.+)$/.exec(pair) ?? [];
      const number = feature && numberOf(value);
      if (number === undefined) throw fault(line, `“${pair}” is not feature:value.`);
      if (Number(feature) < 1 || Number(feature) > most)
        throw fault(line, `feature ${feature}: features are numbered 1 to ${most.toLocaleString("en")}.`);
      if (features.has(Number(feature))) throw fault(line, `feature ${feature} appears twice.`);
      features.set(Number(feature), number);
      width = Math.max(width, Number(feature));
    }
    const id = /^\s*docid\s*=\s*(\S+)/.exec(comment.join("#"))?.[1];
    rows.push({ id, label, query: query.slice(4), features });
  });
  for (const row of rows)
    row.features = Array.from({ length: width }, (_, column) => {
      const value = row.features.get(column + 1);
      return value === undefined ? 0 : value;
    });
  return { form: "LETOR", lists: byQuery(rows) };
}
