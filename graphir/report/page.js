"use strict";
(() => {
  const make = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const order = new Intl.Collator("en", { numeric: true });

  // What a cell is sorted by: the number that it states or shows, else its text.
  function keyOf(cell) {
    const text = (cell.dataset.v ?? cell.textContent).trim();
    if (text === "inf") return Infinity;
    const number = text === "" ? NaN : Number(text.replace(/,/g, ""));
    return Number.isNaN(number) ? text : number;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
    return order.compare(a, b);
  }

  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row, place) => [row.cells[column] ? keyOf(row.cells[column]) : "", place, row]);
    keyed.sort((a, b) => (descending ? compare(b[0], a[0]) : compare(a[0], b[0])) || a[1] - b[1]);
    body.append(...keyed.map(entry => entry[2]));
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function enable(holder, number) {
    const table = holder.querySelector("table"), heads = [...table.tHead.rows[0].cells];
    const tools = make("div", { class: "tools" }), what = holder.dataset.find;
    const label = make("label", {}, "Search"), input = make("input", { type: "search", placeholder: "words of a row" });
    const told = make("output", { "aria-live": "polite" });
    let texts = null;
    input.setAttribute("aria-label", `Search ${what}`);
    label.append(input);
    function filter() {
      const rows = table.tBodies[0].rows, wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      texts ??= new Map([...rows].map(row => [row, [...row.cells].map(cell => cell.textContent).join(" ").toLowerCase()]));
      let shown = 0;
      for (const row of rows) {
        row.hidden = !wanted.every(word => texts.get(row).includes(word));
        shown += !row.hidden;
      }
      told.textContent = wanted.length ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${what}` : "";
    }
    let waiting = 0;
    input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
    holder.addEventListener("unfilter", () => { input.value = ""; filter(); });
    const sorter = make("label", { class: "sorter" }, "Sort by"), select = make("select", {});
    sorter.append(select);
    select.append(make("option", { value: "" }, "place"));
    [...table.tBodies[0].rows].forEach((row, place) => { row.dataset.place = place; });
    heads.forEach((head, column) => {
      const text = head.textContent;
      if (!text) return;
      const button = make("button", { type: "button", title: `Sort by ${text}` }, text);
      button.addEventListener("click", () => sort(table, column, head.getAttribute("aria-sort") === "ascending"));
      head.replaceChildren(button);
      select.append(make("option", { value: column }, text));
    });
    select.addEventListener("change", () => {
      if (select.value) sort(table, Number(select.value), heads[select.value].classList.contains("right"));
      else table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => a.dataset.place - b.dataset.place));
    });
    tools.append(label, sorter, told);
    holder.before(tools);
  }

  // A row that a link leads to is made to be seen, whatever it is hidden by.
  function reach(id) {
    const row = id && document.getElementById(id);
    if (!row || row.tagName !== "TR") return;
    for (let outer = row.parentElement; outer; outer = outer.parentElement) if (outer.tagName === "DETAILS") outer.open = true;
    if (row.hidden) row.closest("[data-find]")?.dispatchEvent(new Event("unfilter"));
    document.querySelectorAll("tr.reached").forEach(other => other.classList.remove("reached"));
    row.classList.add("reached");
    row.tabIndex = -1;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  }

  async function copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const range = document.createRange(), chosen = getSelection();
      range.selectNodeContents(code);
      chosen.removeAllRanges();
      chosen.addRange(range);
      if (!document.execCommand("copy")) { button.textContent = "Selected"; return; }
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  // A table in a part that is closed is made ready when it is opened: long pages are there at once.
  document.querySelectorAll("[data-find]").forEach((holder, number) => {
    const outer = holder.closest("details:not([open])");
    if (!outer) enable(holder, number);
    else outer.addEventListener("toggle", () => enable(holder, number), { once: true });
  });
  document.querySelectorAll(".copy").forEach(box => {
    const button = make("button", { type: "button" }, "Copy"), code = box.querySelector("code");
    button.setAttribute("aria-label", `Copy ${box.dataset.what}`);
    button.addEventListener("click", () => copy(code, button));
    box.append(button);
  });
  // Of points that stand close together a click takes the nearest one, wherever it falls on the picture.
  function nearest(picture, event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    let found = null, least = Infinity;
    for (const link of picture.querySelectorAll("a")) {
      const dot = link.querySelector("circle"), away = Math.hypot(dot.cx.baseVal.value - at.x, (dot.cy.baseVal.value - at.y) / 4);
      if (away < least) { least = away; found = link; }
    }
    return found;
  }

  document.addEventListener("click", event => {
    const picture = event.detail ? event.target.closest?.(".depth") : null;
    const link = picture ? nearest(picture, event) : event.target.closest?.("a[href^='#']");
    if (!link) return;
    const id = decodeURIComponent(link.getAttribute("href").slice(1));
    if (document.getElementById(id)?.tagName !== "TR") return;
    event.preventDefault();
    history.replaceState(null, "", `#${encodeURIComponent(id)}`);
    reach(id);
  });
  addEventListener("hashchange", () => reach(decodeURIComponent(location.hash.slice(1))));
  if (location.hash) reach(decodeURIComponent(location.hash.slice(1)));
})();
