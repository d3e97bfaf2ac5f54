"use strict";
/* Reads what payload.py packed: base64, deflate, JSON; and unpacks the evidence of one example when it is looked at. */
async function readPayload(element) {
  const packed = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const data = JSON.parse(await new Response(stream).text());
  data.rows = data.rows.map(([number, id, system, group, texts, values, details, evidence, problem], index) => ({
    index, number, id, system, group, texts, values, details, evidence, problem,
  }));
  return data;
}

const textOf = (data, row, field) => {
  const place = row.texts[field];
  if (place < 0) return null;
  const text = data.texts[place];
  return typeof text === "string" ? text : text[0];
};

const fullLengthOf = (data, row, field) => {
  const text = row.texts[field] < 0 ? "" : data.texts[row.texts[field]];
  return typeof text === "string" ? text.length : text[1];
};

/* Spans of one score: {kind, field, start, end, value, note, other: {field, start, end} | null}. */
function unpackSpans(data, row, column) {
  if (row.spans) return row.spans[column] || []; /* the page of the service has them unpacked */
  const spans = [];
  const groups = row.evidence[row.details[column][0]];
  for (const [kind, field, otherField, numbers, notes] of groups) {
    const stride = otherField < 0 ? 3 : 5;
    let end = 0;
    for (let i = 0, k = 0; i < numbers.length; i += stride, k++) {
      const start = end + numbers[i];
      end = start + numbers[i + 1];
      const value = numbers[i + 2] === null ? NaN : numbers[i + 2] / 1000;
      const other = stride === 5 && numbers[i + 3] >= 0
        ? { field: otherField, start: numbers[i + 3], end: numbers[i + 3] + numbers[i + 4] } : null;
      spans.push({ kind: data.kinds[kind], field, start, end, value, note: notes ? data.words[notes[k]] : "", other });
    }
  }
  return spans;
}

const pairsOf = (data, flat) => {
  const pairs = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([data.words[flat[i]], flat[i + 1]]);
  return pairs;
};

function notesOf(data, row) {
  const notes = new Set(row.problem ? [row.problem] : []);
  row.details.forEach(([, , flags, cut], column) => {
    const label = data.columns[column].label;
    for (const flag of flags) notes.add(row.values[column] === null && !row.problem ? `${label}: ${data.words[flag]}` : data.words[flag]);
    for (const [field, count] of pairsOf(data, cut)) notes.add(`${label}: ${count} tokens of ${field} were not seen`);
  });
  return [...notes];
}
