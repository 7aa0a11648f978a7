"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const WIDTH = 190, GAP = 18, ROW_GAP = 38, PASSING = 14, PADDING = 14, HEADER = 34, PIN = 18, RAIL = 6, MARGIN = 16;
  const LEGIBLE = 0.8; // the scale of a first view: texts of 10 pixels are drawn with 8 at least
  const UNIT = (WIDTH + GAP) / 100, SVG = "http://www.w3.org/2000/svg";
  const tools = document.getElementById("tools"), closer = document.getElementById("closer");
  let shade = "class", scale = 1;

  function make(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function html(name, attributes, text) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Where columns stand: as far apart as they were laid out, or as what stands in them needs.
  function middles(columns, needs) {
    const count = columns.length, before = columns.map(() => []), behind = columns.map(() => []);
    for (let i = 0; i + 1 < count; i++) needs.push([i, i + 1, (columns[i + 1] - columns[i]) * UNIT]);
    for (const [here, there, least] of needs) { before[there].push([here, least]); behind[here].push([there, least]); }
    const earliest = new Array(count).fill(0);
    for (let i = 1; i < count; i++) earliest[i] = Math.max(...before[i].map(([other, least]) => earliest[other] + least));
    const latest = new Array(count).fill(count ? earliest[count - 1] : 0);
    for (let i = count - 2; i >= 0; i--) latest[i] = Math.min(...behind[i].map(([other, least]) => latest[other] - least));
    return earliest.map((low, i) => (low + latest[i]) / 2);
  }

  // The places inside a box, as placing.py has them.
  function place(side, number) {
    const box = side.boxes[number], grid = side.grids[box.g], insides = {}, sizes = [];
    box.ch.forEach((child, i) => {
      if (side.opened.has(child) && side.boxes[child].ch) {
        const inner = insides[i] = place(side, child);
        sizes.push([Math.max(WIDTH, inner.width) + 2 * PADDING, inner.height + HEADER + 2 * PADDING]);
      } else sizes.push([WIDTH, 26 + 14 * side.boxes[child].l.length]);
    });
    box.pins.forEach(() => sizes.push([WIDTH, PIN]));
    for (let i = 0; i < box.r; i++) sizes.push([PASSING, RAIL]);
    const rails = box.ch.length + box.pins.length;
    const needs = [], wide = cell => cell[1] < 0 ? PASSING : sizes[cell[1]][0];
    for (const row of grid.r) for (let i = 0; i + 1 < row.length; i++)
      needs.push([row[i][0], row[i + 1][0], (wide(row[i]) + wide(row[i + 1])) / 2 + GAP]);
    const at = middles(grid.c, needs);
    let left = Infinity, right = -Infinity, y = 0;
    const tops = [], bottoms = [], spots = [], rowOf = [];
    for (const row of grid.r) {
      let height = 0;
      for (const cell of row) {
        left = Math.min(left, at[cell[0]] - wide(cell) / 2);
        right = Math.max(right, at[cell[0]] + wide(cell) / 2);
        height = Math.max(height, cell[1] < 0 ? 0 : sizes[cell[1]][1]);
      }
      height = height || PIN;
      tops.push(y); bottoms.push(y + height); y += height + ROW_GAP;
    }
    grid.r.forEach((row, r) => row.forEach(cell => {
      if (cell[1] < 0) return;
      const [width, height] = sizes[cell[1]];
      rowOf[cell[1]] = r;
      spots[cell[1]] = { x: at[cell[0]] - left - width / 2, y: tops[r] + (bottoms[r] - tops[r] - height) / 2, width, height,
                         inside: insides[cell[1]] };
    }));
    const wires = grid.w.map(([maker, reader, way]) => {
      const a = spots[maker], b = spots[reader], ax = a.x + a.width / 2, bx = b.x + b.width / 2;
      const points = [[ax, a.y + a.height], [ax, bottoms[rowOf[maker]]]];
      way.forEach((column, i) => {
        const x = at[column] - left;
        points.push([x, tops[rowOf[maker] + 1 + i]], [x, bottoms[rowOf[maker] + 1 + i]]);
      });
      points.push([bx, tops[rowOf[reader]]], [bx, reader < rails ? b.y : b.y + b.height]);
      return { points, head: reader < rails };
    });
    const labels = Object.keys(box.w).filter(i => spots[i]).map(i =>
      [spots[i].x + spots[i].width / 2 + 5, bottoms[rowOf[i]] + 13, ...box.w[i]]);
    const width = Math.max(right - left, ...labels.map(([x, , , wide]) => x + wide));
    return { box, spots, wires, labels, width, height: bottoms.length ? bottoms[bottoms.length - 1] : 0 };
  }

  function path(points) {
    let line = "";
    points.forEach(([x, y], i) => {
      if (i === 0) line = `M${x} ${y}`;
      else if (i % 2) line += `V${y}`;
      else {
        const [px, py] = points[i - 1], middle = (py + y) / 2;
        line += `C${px} ${middle} ${x} ${middle} ${x} ${y}`;
      }
    });
    return line;
  }

  function mark(group, spot, box, framed) {
    if (!box.m) return;
    const sign = data.marks[box.m][1], text = box.n < 2 ? sign : `${sign} ${box.n}`, wide = Math.max(16, 8 * text.length);
    const x = spot.x + spot.width - wide + 5;
    if (framed) group.append(make("rect", { class: "v-" + box.m, x: spot.x, y: spot.y, width: spot.width, height: spot.height, rx: 5 }));
    group.append(make("rect", { class: "n-" + box.m, x, y: spot.y - 7, width: wide, height: 16, rx: 8 }),
                 make("text", { class: "m", "text-anchor": "middle", x: x + wide / 2, y: spot.y + 5 }, text));
  }

  function heat(side, box) {
    const key = shade === "macs" ? "a" : "p", whole = box.ch ? side.boxes[0][key] : side.most[key];
    return shade !== "class" && box[key] && whole ? Math.sqrt(box[key] / whole) : 0;
  }

  function draw(side, number, spot, into) {
    const box = side.boxes[number], group = make("g", { tabindex: 0, role: "button", "data-n": number });
    group.classList.add(box.ch ? "open" : "node");
    group.setAttribute("aria-label", `${box.t} ${box.l.join(" ")}`);
    if (side.chosen === number) group.classList.add("chosen");
    const around = { x: spot.x, y: spot.y, width: spot.width, height: spot.height };
    if (spot.inside) {
      group.append(make("rect", { class: "g", rx: 7, ...around }));
      group.append(make("rect", { "fill-opacity": 0, ...around, height: HEADER }));
      group.append(make("text", { class: "t", x: spot.x + 12, y: spot.y + 16 }, "\u2212 " + box.t));
      if (box.b) group.append(make("text", { class: "s", x: spot.x + 12, y: spot.y + 30 }, box.b));
      if (box.m && data.marks[box.m][0] > 1) mark(group, spot, box, false);
      into.append(group);
      fill(side, spot.inside, spot.x + (spot.width - spot.inside.width) / 2, spot.y + HEADER + PADDING, into);
      return;
    }
    if (box.ch) group.append(make("rect", { class: "b c-box", ...around, x: spot.x + 4, y: spot.y + 4, rx: 5 }));
    const end = box.c === "end";
    group.append(make("rect", { class: "b c-" + (shade === "class" ? box.c : "end"), rx: end ? spot.height / 2 : 5, ...around }));
    const warm = heat(side, box);
    if (warm) group.append(make("rect", { class: "heat", rx: 5, "fill-opacity": 0.45 * warm, ...around }));
    if (!end) group.append(make("rect", { class: "k-" + box.c, x: spot.x, y: spot.y + 4, width: 4, height: spot.height - 8 }));
    group.append(make("text", { class: "t", x: spot.x + 12, y: spot.y + 17 }, box.t));
    box.l.forEach((line, i) => group.append(make("text", { class: "s", x: spot.x + 12, y: spot.y + 31 + 14 * i }, line)));
    if (box.ch) group.append(make("text", { class: "t", "text-anchor": "end", x: spot.x + spot.width - 8, y: spot.y + spot.height - 8 }, "+"));
    mark(group, spot, box, true);
    into.append(group);
  }

  function fill(side, placed, x, y, into) {
    const group = make("g", { transform: `translate(${x} ${y})` });
    for (const { points, head } of placed.wires) {
      const [hx, hy] = points[points.length - 1];
      group.append(make("path", { class: "w", d: path(points) }));
      if (head) group.append(make("path", { class: "h", d: `M${hx} ${hy}l-3.5 -7h7z` }));
    }
    for (const [lx, ly, text] of placed.labels) group.append(make("text", { class: "f", x: lx, y: ly }, text));
    const count = placed.box.ch.length;
    placed.spots.forEach((spot, i) => {
      if (i < count) draw(side, placed.box.ch[i], spot, group);
      else if (i < count + placed.box.pins.length) group.append(make("text", { class: "p", "text-anchor": "middle", x: spot.x + spot.width / 2, y: spot.y + 12 },
                             placed.box.pins[i - count]));
    });
    into.append(group);
  }

  function render(side) {
    if (!side.boxes[0].ch) { side.view.replaceChildren(make("svg", {})); side.width = side.height = 1; return; }
    const placed = place(side, 0), width = placed.width + 2 * MARGIN, height = placed.height + 2 * MARGIN;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}` });
    side.width = width;
    side.height = height;
    fill(side, placed, MARGIN, MARGIN, svg);
    side.view.replaceChildren(svg);
    resize(side);
  }

  function resize(side) {
    const svg = side.view.firstChild;
    svg.setAttribute("width", side.width * scale);
    svg.setAttribute("height", side.height * scale);
  }

  function element(side, number) { return side.view.querySelector(`[data-n="${number}"]`); }

  // Change what is open while the box that was touched stays where it is on the screen.
  function steady(side, number, change) {
    const was = element(side, number), from = was ? was.getBoundingClientRect() : null;
    change();
    render(side);
    const now = element(side, number);
    if (from && now) {
      const to = now.getBoundingClientRect();
      side.view.scrollTop += to.top - from.top;
      side.view.scrollLeft += to.left + Math.min(to.width, side.view.clientWidth) / 2 - from.left - Math.min(from.width, side.view.clientWidth) / 2;
    }
    if (now) now.focus({ preventScroll: true });
  }

  function parents(side) {
    side.parent = [];
    side.boxes.forEach((box, i) => (box.ch || []).forEach(child => { side.parent[child] = i; }));
  }

  function reveal(side, number) {
    for (let box = side.parent[number]; box !== undefined; box = side.parent[box]) side.opened.add(box);
    side.chosen = number;
    render(side);
    const found = element(side, number);
    if (found) found.scrollIntoView({ block: "center", inline: "center" });
  }

  function tell(side, number) {
    const list = html("dl", {});
    for (const [name, text] of side.boxes[number].f) list.append(html("dt", {}, name), html("dd", {}, text));
    const shut = html("button", { "aria-label": "close" }, "\u00d7");
    shut.onclick = () => { closer.hidden = true; };
    closer.replaceChildren(shut, list);
    closer.hidden = false;
  }

  function choose(side, number) {
    const last = side.view.querySelector(".chosen");
    if (last) last.classList.remove("chosen");
    side.chosen = number;
    const found = element(side, number);
    if (found) found.classList.add("chosen");
    tell(side, number);
    const other = side.others ? side.others[number] : undefined;
    if (other !== undefined) reveal(data.sides[data.sides.indexOf(side) ? 0 : 1], other);
  }

  function act(side, number) {
    const box = side.boxes[number];
    if (!box.ch) { choose(side, number); return; }
    steady(side, number, () => { if (!side.opened.delete(number)) side.opened.add(number); });
    tell(side, number);
  }

  function listen(side) {
    const target = event => event.target.closest("[data-n]");
    side.view.addEventListener("click", event => { const found = target(event); if (found) act(side, +found.dataset.n); });
    side.view.addEventListener("keydown", event => {
      const found = target(event);
      if (found && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); act(side, +found.dataset.n); }
    });
    side.view.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
    }, { passive: false });
  }

  function zoom(factor) {
    scale = Math.min(3, Math.max(0.1, scale * factor));
    data.sides.forEach(resize);
  }

  // All of the picture; the first view shows what is legible of it.
  function fit() { show(side => Math.max(0.1, Math.min(side.view.clientWidth / side.width, side.view.clientHeight / side.height))); }
  function firstView() { show(side => Math.max(LEGIBLE, side.view.clientWidth / side.width)); }

  function show(scaleOf) {
    scale = Math.min(1, ...data.sides.map(scaleOf));
    for (const side of data.sides) {
      resize(side);
      const first = side.boxes[0].ch ? element(side, side.boxes[0].ch[0]) : null, view = side.view.getBoundingClientRect();
      side.view.scrollTop = 0;
      if (first) {
        const box = first.getBoundingClientRect();
        side.view.scrollLeft += box.left + box.width / 2 - view.left - view.width / 2;
      }
    }
  }

  function search(text) {
    const found = [], wanted = text.toLowerCase();
    if (wanted) data.sides.forEach(side => side.boxes.forEach((box, i) => {
      if (box.f.length && ((box.k === "node" && box.f.slice(0, 2).some(fact => fact[1].toLowerCase().includes(wanted)))
          || ((box.k === "input" || box.k === "output") && box.f[0][1].toLowerCase().includes(wanted)))) found.push([side, i]);
    }));
    return found;
  }

  function toolbar() {
    const input = html("input", { type: "search", placeholder: "find a layer", "aria-label": "find a layer" });
    const count = html("output", {});
    let found = [], turn = 0;
    input.oninput = () => { found = search(input.value.trim()); turn = 0; count.textContent = input.value.trim() ? `${found.length} found` : ""; };
    input.onkeydown = event => {
      if (event.key !== "Enter" || !found.length) return;
      const [side, number] = found[turn++ % found.length];
      reveal(side, number);
      tell(side, number);
      count.textContent = `${(turn - 1) % found.length + 1} of ${found.length}`;
    };
    const select = html("select", { "aria-label": "colour by" });
    for (const [name, text] of [["class", "colour: operator"], ["macs", "colour: MACs"], ["parameters", "colour: parameters"]])
      select.append(html("option", { value: name }, text));
    select.onchange = () => { shade = select.value; data.sides.forEach(render); };
    const button = (text, label, action) => {
      const made = html("button", { type: "button", "aria-label": label }, text);
      made.onclick = action;
      return made;
    };
    const next = data.sides.some(side => side.boxes[0].m) ? [button("next mark", "next marked layer", nextMark)] : [];
    tools.append(input, count, select, ...next, button("\u2212", "smaller", () => zoom(1 / 1.25)), button("+", "larger", () => zoom(1.25)),
      button("fit", "show all of it", fit), button("reset", "as at first", () => { data.sides.forEach(side => { side.opened = new Set(side.open); side.chosen = undefined; render(side); }); firstView(); }));
  }

  let turnOfMark = 0;
  function nextMark() {
    const worst = Math.max(...data.sides.map(side => side.boxes[0].m ? data.marks[side.boxes[0].m][0] : -1)), found = [];
    data.sides.forEach(side => side.boxes.forEach((box, i) => {
      if (box.k === "node" && box.m && data.marks[box.m][0] >= Math.min(2, worst)) found.push([side, i]);
    }));
    if (!found.length) return;
    const [side, number] = found[turnOfMark++ % found.length];
    reveal(side, number);
    choose(side, number);
  }

  function legend() {
    const classes = new Set(), marks = new Set();
    data.sides.forEach(side => side.boxes.forEach(box => { if (box.k !== "graph") classes.add(box.c); if (box.m) marks.add(box.m); }));
    const into = document.getElementById("legend");
    const entry = (name, text) => {
      const span = html("span", {}), swatch = make("svg", { width: 11, height: 11 });
      swatch.append(make("rect", { class: name, width: 11, height: 11, rx: 2 }));
      span.append(swatch, text);
      into.append(span);
    };
    for (const name in data.classes) if (classes.has(name)) entry("k-" + name, data.classes[name]);
    for (const name in data.marks) if (marks.has(name)) entry("n-" + name, `${data.marks[name][1]} ${data.marks[name][2]}`);
  }

  const sides = document.getElementById("sides");
  for (const side of data.sides) {
    const holder = html("section", { class: "side" });
    side.view = html("div", { class: "view" });
    if (data.sides.length > 1) holder.append(html("h2", {}, side.title));
    holder.append(side.view);
    sides.append(holder);
    side.opened = new Set(side.open);
    side.most = { a: 0, p: 0 };
    for (const box of side.boxes) if (!box.ch) for (const key of ["a", "p"]) side.most[key] = Math.max(side.most[key], box[key] || 0);
    parents(side);
    listen(side);
  }
  toolbar();
  legend();
  data.sides.forEach(render);
  firstView();
})();
