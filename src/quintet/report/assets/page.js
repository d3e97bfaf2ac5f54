/* Starts the page: theme, data, then the parts that need data. */
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
  const follow = () => {
    const asked = /^#example-(\d+)$/.exec(location.hash);
    const row = asked && data.rows.find((r) => r.number === Number(asked[1]));
    if (row) openExample(row);
    else if (byId("example").open) byId("example").close();
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  document.documentElement.dataset.ready = "yes";
}
start();
