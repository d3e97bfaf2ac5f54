/* The ten worst and the ten best of a dimension. */
const END_ROWS = 10;

function endLists(data, openExample) {
  const panel = byId("ends-lists");
  function list(title, rows, column) {
    const items = rows.map((row) => make("li", {}, make("button", { type: "button", class: "item", onclick: (event) => openExample(row, column, event.currentTarget) },
      make("b", {}, figure(row.values[column])), make("span", {}, shorten(textOf(data, row, 0) || "(no output)", 150)),
      make("small", {}, [row.id, row.system >= 0 ? data.systems[row.system] : ""].filter(Boolean).join(" · ")))));
    return make("div", {}, make("h3", {}, title), make("ol", {}, ...items));
  }
  function draw(column) {
    const { better } = data.columns[column];
    const rows = data.rows.filter((row) => row.values[column] !== null)
      .sort((a, b) => better * (a.values[column] - b.values[column]) || a.index - b.index);
    panel.replaceChildren(list("Worst", rows.slice(0, END_ROWS), column), list("Best", rows.slice(-END_ROWS).reverse(), column));
  }
  if (!data.columns.length || !data.rows.length) { byId("ends").hidden = true; return; }
  tabs(byId("ends-tabs"), data.columns.map((c) => c.label), draw)(data.first || 0);
}
