/* Starts the page: theme, data, then the parts that need data. */
function theme() {
  const names = { auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };
  const set = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    byId("theme").textContent = names[name][0];
    byId("theme").setAttribute("aria-label", `Colours: ${names[name][1]}`);
    byId("theme").title = `Colours: ${names[name][1]}`;
    try { localStorage.setItem("quintet-theme", name); } catch { /* not kept, then */ }
    byId("theme").dataset.now = name;
  };
  let kept = "auto";
  try { kept = localStorage.getItem("quintet-theme") || "auto"; } catch { /* files may have no storage */ }
  set(kept in names ? kept : "auto");
  byId("theme").onclick = () => {
    const order = ["auto", "light", "dark"];
    set(order[(order.indexOf(byId("theme").dataset.now) + 1) % 3]);
  };
}

/* Paper cannot be clicked: what is folded is opened for printing. */
function unfoldForPrint() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
}

async function start() {
  theme();
  unfoldForPrint();
  if (typeof DecompressionStream === "undefined") {
    byId("count").textContent = "This browser is too old to show the list of examples.";
    return;
  }
  const data = await readPayload(byId("data"));
  let order = () => data.rows;
  const openExample = exampleView(data, byId("example"), () => order());
  order = exampleTable(data, openExample);
  endLists(data, openExample);
  const asked = /^#example-(\d+)$/.exec(location.hash);
  const row = asked && data.rows.find((r) => r.number === Number(asked[1]));
  if (row) openExample(row);
  document.documentElement.dataset.ready = "yes";
}
start();
