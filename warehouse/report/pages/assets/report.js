"use strict";
/* Controls of the pages: sorting, filters, copying, comparing, lists side by side. The address after # holds the state,
   so that each state is a link. Without this script the pages still show everything but charts and lists. */
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const places = (value, digits = 4) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  const signed = (value, digits = 4) => (value === null || value === undefined ? "–" : `${value > 0 ? "+" : ""}${Number.isFinite(value) ? value.toFixed(digits) : value < 0 ? "-∞" : "∞"}`);
  const state = () => new URLSearchParams(location.hash.slice(1));
  const keep = (words) => {
    const text = new URLSearchParams(Object.entries(words).filter(([, value]) => value)).toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };
  /* What a page loads later belongs to it only if both have the same stamp. Else, as when a run has arrived meanwhile, the
     page is loaded again, with a notice; a page whose stamp is still the old one only says so. */
  const STAMP = document.documentElement.dataset.stamp, RENEWED = "warehouse-renewed";
  const notice = (text) => {
    one("#main > .notice")?.remove();
    const told = element("p", { className: "notice", textContent: text });
    told.setAttribute("role", "status");
    one("#main").prepend(told);
  };
  const remembered = (change) => { try { return change(sessionStorage); } catch { return null; } }; // may be switched off
  const renew = () => {
    const here = `${location.pathname} ${STAMP}`;
    if (remembered((store) => store.getItem(RENEWED)) === here || remembered((store) => { store.setItem(RENEWED, here); return true; }) === null) {
      notice("The data have changed since this page was made, so they are not shown with it. Load the page again in a moment.");
    } else location.reload();
  };
  const before = remembered((store) => store.getItem(RENEWED));
  if (before?.startsWith(`${location.pathname} `) && before !== `${location.pathname} ${STAMP}`) {
    remembered((store) => store.removeItem(RENEWED));
    notice("The data have changed meanwhile, so this page was loaded again.");
  }
  const load = (src, name, then) => {
    if (window.warehouse?.[name]) { then(window.warehouse[name].data); return; }
    const script = element("script", { src });
    script.addEventListener("load", () => {
      if (window.warehouse[name].stamp === STAMP) then(window.warehouse[name].data);
      else { delete window.warehouse[name]; renew(); }
    });
    script.addEventListener("error", renew);
    document.head.append(script);
  };
  const data = () => { const found = one("#data"); return found && JSON.parse(found.textContent); };

  one(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });

  /* ------------------------------------------------------------ copying */
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(element("textarea", { value: text }));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  const copier = (text) => {
    const button = element("button", { type: "button", textContent: "Copy" });
    button.addEventListener("click", () => copy(text(), button));
    return button;
  };
  const furnish = (root) => {
    for (const found of all(".command", root)) found.append(copier(() => one("code", found).textContent));
  };
  furnish(document);
  for (const found of all(".copy")) found.insertBefore(copier(() => one("pre", found).textContent), one("pre", found));

  /* ------------------------------------------------------------ sorting */
  const number = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.replace(/[^0-9.eE+-]/g, "");
    return text === "" ? null : Number(text);
  };
  const sort = (table, column, down) => {
    const heads = all("thead th", table), head = heads[column];
    const mark = () => {
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      table.dispatchEvent(new CustomEvent("sorted"));
    };
    if (table.dataset.rows) { mark(); return; } // its rows are not all here
    const isNumber = head.dataset.sort === "number";
    const key = (row) => (isNumber ? number(row.cells[column]) : row.cells[column].textContent.trim());
    const sign = down ? -1 : 1;
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
    });
    for (const [, row] of rows) table.tBodies[0].append(row);
    mark();
  };
  for (const table of all("table.sortable")) {
    for (const head of all("thead th[data-sort]", table)) {
      const button = element("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.sort === "number" && head.dataset.better !== "lower";
        sort(table, head.cellIndex, now ? now !== "descending" : first);
      });
    }
  }

  /* ------------------------------------------------------------ filters */
  const tell = (table, shown, total = table.tBodies[0].rows.length) => {
    const count = one(`[data-count="${table.id}"]`);
    if (!count) return;
    count.textContent = `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} shown`;
    count.hidden = shown === total;
  };
  const filter = (table, keeps) => {
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !keeps(row);
      shown += !row.hidden;
    }
    tell(table, shown);
  };
  const contains = (row, text) => row.textContent.toLowerCase().includes(text.toLowerCase());

  for (const form of all("form.controls")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  for (const id of ["queries", "metrics"]) {
    const form = one(`form[data-for="${id}"]`);
    form?.addEventListener("input", () => filter(one(`#${id}`), (row) => contains(row, form.elements.text.value)));
  }

  /* ------------------------------------------------------------ the board */
  const board = one("#board"), boardForm = one('form[data-for="board"]');
  if (board && boardForm) {
    const form = boardForm, fields = form.elements, heads = all("thead th", board);
    const metrics = all('[name="metric"]', form);
    const initial = heads.find((head) => head.hasAttribute("aria-sort"));
    const rank = () => {
      /* Places are those of the metric by which the board was last sorted. */
      const head = heads.find((found) => found.hasAttribute("aria-sort") && found.dataset.key);
      board.ranked = head?.dataset.key ?? board.ranked;
      const grouped = fields.groups?.checked;
      for (const row of board.tBodies[0].rows) {
        const cell = one(`td[data-key="${board.ranked}"]`, row);
        row.cells[0].textContent = grouped ? cell.dataset.places : cell.dataset.place;
      }
    };
    const pager = one("[data-pages]");
    let page = 1, restoring = false;
    const turn = (to) => { page = to; show(); remember(); one(".scroll:has(#board)").scrollIntoView({ block: "nearest" }); };
    const long = board.dataset.rows ? window.longBoard(board, pager, turn, load) : null;
    const showLong = () => {
      const head = heads.find((found) => found.hasAttribute("aria-sort"));
      board.ranked = head.dataset.key ?? board.ranked;
      long.show({
        text: fields.text.value, system: fields.system?.value, tag: fields.tag?.value, page, ranked: board.ranked,
        key: head.dataset.key, column: head.cellIndex, down: head.getAttribute("aria-sort") === "descending",
        hidden: new Set(metrics.filter((box) => !box.checked).map((box) => box.value)),
      }, (shown, total) => tell(board, shown, total));
    };
    const show = () => {
      for (const box of metrics) for (const cell of all(`[data-key="${box.value}"]`, board)) cell.hidden = !box.checked;
      if (long) { showLong(); return; }
      filter(board, (row) => contains(row, fields.text.value)
        && (!fields.system?.value || row.dataset.system === fields.system.value)
        && (!fields.tag?.value || row.dataset.tags.split("\n").includes(fields.tag.value)));
      board.classList.toggle("no-intervals", fields.intervals?.checked === false);
      rank();
    };
    const remember = () => {
      const head = heads.find((found) => found.hasAttribute("aria-sort"));
      const by = head === initial && head.getAttribute("aria-sort") === first ? "" : heads.indexOf(head);
      keep({
        text: fields.text.value, system: fields.system?.value, tag: fields.tag?.value,
        hide: metrics.filter((box) => !box.checked).map((box) => box.value).join(" "),
        groups: fields.groups?.checked === false ? "off" : "", intervals: fields.intervals?.checked === false ? "off" : "",
        sort: by === "" ? "" : `${by} ${head.getAttribute("aria-sort")}`, page: page > 1 ? page : "",
      });
    };
    const first = initial.getAttribute("aria-sort");
    const restore = () => {
      const given = state(), hidden = (given.get("hide") ?? "").split(" ");
      fields.text.value = given.get("text") ?? "";
      if (fields.system) fields.system.value = given.get("system") ?? "";
      if (fields.tag) fields.tag.value = given.get("tag") ?? "";
      if (fields.groups) fields.groups.checked = given.get("groups") !== "off";
      if (fields.intervals) fields.intervals.checked = given.get("intervals") !== "off";
      for (const box of metrics) box.checked = !hidden.includes(box.value);
      const [column, order] = (given.get("sort") ?? "").split(" ");
      page = Number(given.get("page")) || 1;
      restoring = true;
      if (heads[column]?.dataset.sort) sort(board, Number(column), order === "descending");
      restoring = false;
      show();
    };
    form.addEventListener("input", () => { page = 1; show(); remember(); });
    board.addEventListener("sorted", () => {
      if (restoring) { if (!long) rank(); return; }
      page = 1;
      if (long) showLong(); else rank();
      remember();
    });
    restore();
    addEventListener("hashchange", restore);
  }

  /* ------------------------------------------------------------ a run */
  const runForm = one('form[data-for="run"]');
  if (runForm) {
    const scales = data(), figure = one('[data-chart="run"]'), rows = [...one("#by-query").tBodies[0].rows];
    const draw = () => {
      const n = Number(runForm.elements.metric.value), metric = scales[n];
      const sign = metric.direction === "lower" ? 1 : -1;
      const items = rows.map((row) => ({ link: one("a", row), said: row.cells[n + 1].textContent }))
        .filter((item) => item.said !== "")
        .map((item) => ({ value: Number(item.said), text: `query ${item.link.textContent}\n${metric.name} ${item.said}`, go: item.link.href }))
        .sort((a, b) => sign * (a.value - b.value));
      charts.bars(figure, items, { low: Math.min(metric.low, 0), high: metric.high, label: `${metric.name} of ${items.length} queries, sorted; the table below has the same values` });
    };
    runForm.addEventListener("input", draw);
    draw();
  }

  /* ------------------------------------------------------------ two runs */
  const compareForm = one('form[data-for="compare"]');
  if (compareForm) {
    const found = data(), fields = compareForm.elements;
    const names = new Map(found.runs.map(([name, key]) => [key, name]));
    /* Runs beyond those that are tested together have their values in scripts of their own. */
    const more = new Map();
    const know = (keys, then) => {
      const key = keys.find((one) => one && !names.has(one) && /^[\w.-]+$/.test(one));
      if (!key) { then(); return; }
      load(`data/runs/${key}.js${location.search}`, `run-${key}`, (read) => {
        more.set(key, read);
        names.set(key, read.name);
        for (const select of [fields.base, fields.run, fields.add]) select?.append(new Option(read.name, key));
        know(keys, then);
      });
    };
    const value = (read, run, query, metric) => (more.has(run) ? more.get(run).values[query]?.[metric] : read.values[query]?.[read.runs.indexOf(run)]) ?? null;
    const mean = (read, run, metric) => (more.has(run) ? more.get(run).means[metric] : read.means[read.runs.indexOf(run)]);
    const pair = (read, base, run) => {
      const row = read.pairs.find(([a, b]) => (a === base && b === run) || (a === run && b === base));
      if (!row) return null;
      const [a, , difference, low, high, effect, wins, ties, losses, queries, p, adjusted, significant] = row;
      const turned = a !== base, flip = (value) => (turned && value !== null ? -value : value);
      return {
        difference: flip(difference), low: turned ? flip(high) : low, high: turned ? flip(low) : high, effect: flip(effect),
        wins: turned ? losses : wins, ties, losses: turned ? wins : losses, queries, p, adjusted, significant,
      };
    };
    /* Up to eight runs at once: the others of these, each against the base, are rows of a table. */
    const MOST = 8;
    let also = [];
    const against = (read, base, number) => {
      const table = one("#against"), chosen = [fields.run.value, ...also].filter((key, n, keys) => key !== fields.base.value && keys.indexOf(key) === n);
      table.parentElement.hidden = !also.length;
      table.tBodies[0].replaceChildren(...chosen.map((key) => {
        const test = pair(read, base, key), name = names.get(key);
        const show = element("button", { type: "button", textContent: name, title: "Show it in the charts" });
        show.setAttribute("aria-pressed", String(key === fields.run.value));
        show.addEventListener("click", () => {
          if (key === fields.run.value) return;
          also = [fields.run.value, ...also.filter((other) => other !== key)];
          fields.run.value = key;
          change();
          one("#against button[aria-pressed=true]")?.focus();
        });
        const remove = element("button", { type: "button", textContent: "×" });
        remove.setAttribute("aria-label", `Remove ${name}`);
        remove.addEventListener("click", () => { also = also.filter((other) => other !== key); change(); fields.add.focus(); });
        const told = test ? [signed(test.difference), `[${signed(test.low)}, ${signed(test.high)}]`, `${test.wins} / ${test.ties} / ${test.losses}`, signed(test.effect, 2), `${chance(test.p)} / ${chance(test.adjusted)}${test.significant ? " *" : ""}`] : ["–", "–", "–", "–", "–"];
        return element("tr", {}, element("th", { scope: "row" }, show), ...[places(mean(read, key, number)), ...told].map((text) => element("td", { className: "num", textContent: text })),
          element("td", { className: "num" }, ...(key === fields.run.value ? [] : [remove])));
      }));
      if (fields.put) fields.put.disabled = also.length >= MOST - 2;
    };
    const chance = (p) => (p === null ? "–" : p < 0.0001 ? "<0.0001" : p.toFixed(4));
    const draw = () => {
      const number = found.metrics.findIndex(({ key }) => key === fields.metric.value), metric = found.metrics[number];
      const base = fields.base.value, run = fields.run.value;
      load(`data/${metric.key}.js${location.search}`, metric.key, (read) => {
        const baseName = names.get(base), runName = names.get(run);
        const items = found.queries.map(([name, key]) => ({ name, key, x: value(read, base, key, number), y: value(read, run, key, number) }))
          .filter((item) => item.x !== null && item.y !== null)
          .map((item) => ({ ...item, value: Math.round((item.y - item.x) * 1e9) / 1e9, go: `queries/${item.key}.html${location.search}#lists=${base}+${run}` }));
        for (const item of items) item.text = `query ${item.name}\n${baseName} ${places(item.x)}\n${runName} ${places(item.y)}\ndifference ${signed(item.value)}`;
        items.sort((a, b) => b.value - a.value);
        const test = pair(read, base, run), box = one("#verdict");
        const beyond = more.get(run) ?? more.get(base), shown = [base, run].map((key) => places(mean(read, key, number)));
        const tellTest = (test, notes) => {
          const facts = [[`${metric.name} of ${baseName}`, shown[0]], [`${metric.name} of ${runName}`, shown[1]]];
          if (test) {
            facts.push(["Difference", signed(test.difference)], ["95% interval", `[${signed(test.low)}, ${signed(test.high)}]`],
              ["Won / tied / lost", `${test.wins} / ${test.ties} / ${test.losses}`], ["Effect size d", signed(test.effect, 2)],
              ["p / corrected", `${chance(test.p)} / ${chance(test.adjusted)}${test.significant ? " *" : ""}`]);
          } else if (beyond && items.length) facts.push(["Difference", signed(items.reduce((sum, item) => sum + item.value, 0) / items.length)]);
          const line = element("div", { className: "verdict" }, ...facts.map(([name, text]) => element("div", {}, element("span", { textContent: name }), element("strong", { textContent: text }))));
          const words = base === run ? "Base and run are the same." : !test ? (beyond ? `Only the best ${read.runs.length} runs are tested together; this command tests two.` : "") : test.significant ? `* The two differ significantly.` : "The two cannot be told apart.";
          const command = element("div", { className: "command" }, element("code", { textContent: `${beyond ? beyond.command : found.command} -m '${metric.name}'` }));
          box.replaceChildren(line, element("p", { textContent: words }), element("ul", { className: "notes" }, ...notes.map((note) => element("li", { textContent: note }))), command);
          furnish(box);
        };
        tellTest(test, read.notes);
        if (beyond && found.tests && base !== run) {
          /* A server tests the two alone, as the command does; what it says of another state is not shown. */
          const words = new URLSearchParams([...found.tests, ["metric", metric.name], ["run", baseName], ["run", runName]]);
          fetch(`../api/compare?${words}`).then((answer) => (answer.ok ? answer.json() : null)).then((answer) => {
            if (!answer || fields.base.value !== base || fields.run.value !== run || fields.metric.value !== metric.key) return;
            const [row] = answer.pairs;
            if ([row.base_value, row.value].map((value) => places(value)).join() !== shown.join()) { renew(); return; }
            tellTest({ ...row, effect: row.effect_size, adjusted: row.p_adjusted, significant: row.is_significant }, answer.notes);
          }).catch(() => {});
        }
        against(read, base, number);
        const largest = Math.max(1e-9, ...items.map(({ value }) => Math.abs(value)));
        charts.bars(one('[data-chart="differences"]'), items, {
          low: Math.min(0, ...items.map(({ value }) => value), -largest * 0.05), high: Math.max(largest * 0.05, ...items.map(({ value }) => value)), signed: true, lowerIsBetter: metric.direction === "lower",
          label: `Differences of ${items.length} queries, sorted; the table has the same values`,
        });
        charts.scatter(one('[data-chart="scatter"]'), items, { low: metric.low, high: metric.high, label: `${baseName} against ${runName} by query; the table has the same values`, across: `${baseName} →`, up: `${runName} →` });
        const table = one("#by-query");
        table.tBodies[0].replaceChildren(...items.map((item) => element("tr", {},
          element("td", {}, element("a", { href: item.go, textContent: item.name })),
          ...[places(item.x), places(item.y), signed(item.value)].map((text) => element("td", { className: "num", textContent: text })))));
      });
    };
    const restore = () => {
      const given = state();
      know([given.get("base"), given.get("run")], () => show(given));
    };
    const show = (given) => {
      for (const name of ["base", "run", "metric"]) {
        const wanted = given.get(name);
        if (wanted && [...fields[name].options].some((option) => option.value === wanted)) fields[name].value = wanted;
      }
      also = (given.get("also") ?? "").split(" ").filter((key) => found.runs.some(([, known]) => known === key)).slice(0, MOST - 2);
      draw();
    };
    const change = () => { keep({ metric: fields.metric.value, base: fields.base.value, run: fields.run.value, also: also.join(" ") }); draw(); };
    compareForm.addEventListener("input", (event) => {
      if (event.target === fields.add) return;
      also = also.filter((key) => key !== fields.base.value && key !== fields.run.value);
      change();
    });
    fields.put?.addEventListener("click", () => {
      const added = fields.add.value;
      if (![fields.base.value, fields.run.value, ...also].includes(added)) also.push(added);
      change();
    });
    fields.swap.addEventListener("click", () => { [fields.base.value, fields.run.value] = [fields.run.value, fields.base.value]; change(); });
    restore();
    addEventListener("hashchange", restore);
  }

  /* ------------------------------------------------------------ a query */
  const side = one("#side");
  if (side) {
    const found = data(), runs = new Map();
    const table = one("#query-values");
    one("thead tr", table).prepend(element("th", { scope: "col", className: "pick", textContent: "List" }));
    const boxes = [...table.tBodies[0].rows].map((row) => {
      const link = one("a", row), [, key] = /\/runs\/([^/]+)\.html/.exec(link.href);
      runs.set(key, { name: link.textContent, go: link.href, value: row.cells[1].textContent });
      const box = element("input", { type: "checkbox", value: key });
      box.setAttribute("aria-label", `Show the list of ${link.textContent}`);
      row.prepend(element("td", { className: "pick" }, box));
      return box;
    });
    const grade = (relevance) => element("span", relevance === null
      ? { className: "grade unjudged", textContent: "?", title: "not judged" }
      : { className: `grade g${Math.min(Math.max(Math.floor(relevance), 0), 4)}`, textContent: relevance, title: `grade ${relevance}` });
    const moved = (rank, before) => {
      if (before === undefined) return "";
      if (before === 0) return "new";
      return before === rank ? "=" : before > rank ? `↑${before - rank}` : `↓${rank - before}`;
    };
    /* Texts are in a script of their own, loaded when the first one is asked for. */
    const texts = (then) => load(found.texts, "texts", (read) => then(new Map(read)));
    const reader = (number) => {
      const button = element("button", { type: "button", textContent: found.documents[number] });
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => texts((known) => {
        const item = button.closest("li"), shown = one(".body", item);
        button.setAttribute("aria-expanded", shown ? "false" : "true");
        if (shown) { shown.remove(); return; }
        const body = element("p", { className: "body", textContent: known.get(found.documents[number]) ?? "No text of it is loaded.", tabIndex: 0 });
        item.append(body);
      }));
      return button;
    };
    const draw = () => {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      const lead = found.lists[chosen[0]]?.[0] ?? [];
      side.replaceChildren(...chosen.map((key, place) => {
        const { name, go, value } = runs.get(key);
        const [documents, parts] = found.lists[key] ?? [[], []]; // parts in ten-thousandths
        const list = element("ol", {}, ...documents.map((document, n) => {
          const item = element("li", {},
            element("span", { textContent: n + 1 }), grade(found.grades[document]),
            element("span", { className: "id" }, found.texts ? reader(document) : found.documents[document]),
            element("span", { className: "moved", textContent: place ? moved(n + 1, lead.indexOf(document) + 1) : "", title: place ? "rank against the first list; new: not among its documents here" : "" }),
            element("span", { className: `part${parts[n] ? "" : " zero"}`, textContent: n < parts.length ? (parts[n] ? signed(parts[n] / 10000) : "0") : "" }));
          if (n === parts.length - 1 && n < documents.length - 1) item.classList.add("cut");
          item.dataset.document = document;
          return item;
        }));
        const head = element("h3", {}, element("a", { href: go, textContent: name }));
        const told = element("small", { textContent: `${found.metric} ${value || "–"}` });
        return element("section", {}, head, told, documents.length ? list : element("p", { textContent: "No document." }));
      }));
    };
    const follow = (event) => {
      const document = event.target.closest?.("li")?.dataset.document;
      for (const item of all("li", side)) item.classList.toggle("same", item.dataset.document === document);
    };
    side.addEventListener("pointerover", follow);
    side.addEventListener("pointerleave", follow);
    const restore = () => {
      const given = (state().get("lists") ?? "").split(" ").filter((key) => found.lists[key]);
      const chosen = given.length ? given : found.start;
      for (const box of boxes) { box.checked = chosen.includes(box.value); }
      draw();
    };
    for (const box of boxes) {
      box.addEventListener("input", () => { keep({ lists: boxes.filter((other) => other.checked).map((other) => other.value).join(" ") }); draw(); });
    }
    restore();
    addEventListener("hashchange", restore);
  }

  /* ------------------------------------------------------------ one of several sections */
  const choices = one('form[data-for="choices"]');
  if (choices) {
    const sections = all("[data-choice]"), select = choices.elements.choice;
    choices.hidden = select.options.length < 2;
    const draw = () => {
      for (const section of sections) {
        section.hidden = section.dataset.choice !== select.value;
        const figure = one('[data-chart="curve"]', section);
        if (section.hidden || !figure) continue;
        charts.draw(figure, JSON.parse(one("script", section).textContent), `${one("h2", section).textContent}; the table has the same points`);
      }
    };
    const restore = () => {
      const wanted = state().get("show") ?? select.options[0]?.value;
      if ([...select.options].some((option) => option.value === wanted)) select.value = wanted;
      draw();
    };
    choices.addEventListener("input", () => { keep({ show: select.value }); draw(); });
    restore();
    addEventListener("hashchange", restore);
  }

  /* ------------------------------------------------------------ a chart of which nothing is chosen */
  for (const figure of all('[data-chart="whole"]')) {
    charts.draw(figure, JSON.parse(one("script", figure.parentElement).textContent), figure.dataset.label);
  }

  /* ------------------------------------------------------------ history */
  const historyForm = one('form[data-for="history"]');
  if (historyForm) {
    const sections = all("[data-choice]");
    const draw = () => {
      for (const section of sections) {
        section.hidden = section.dataset.choice !== historyForm.elements.metric.value;
        if (section.hidden) continue;
        charts.draw(one("figure", section), JSON.parse(one("script", section).textContent), `${one("h2", section).textContent}; the table has the same values`);
      }
    };
    const restore = () => {
      const wanted = state().get("metric"), select = historyForm.elements.metric;
      if (wanted && [...select.options].some((option) => option.value === wanted)) select.value = wanted;
      draw();
    };
    historyForm.addEventListener("input", () => { keep({ metric: historyForm.elements.metric.value }); draw(); });
    restore();
    addEventListener("hashchange", restore);
  }
})();
