"use strict";
(() => {
  const $ = (s, e = document) => [...e.querySelectorAll(s)];
  document.documentElement.classList.remove("no-script");

  // Sorting: a button in the head of a column.
  const value = (row, i) => {
    const cell = row.children[i], v = cell.dataset.v;
    return v === undefined ? cell.textContent.trim() : v === "" ? NaN : Number(v);
  };
  $("th button").forEach(b => b.addEventListener("click", () => {
    const th = b.closest("th"), i = [...th.parentNode.children].indexOf(th), body = th.closest("table").tBodies[0];
    const up = th.getAttribute("aria-sort") === "descending" || (!th.hasAttribute("aria-sort") && b.dataset.up !== undefined);
    $("th", th.parentNode).forEach(x => x.removeAttribute("aria-sort"));
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].map(r => [value(r, i), r]);
    rows.sort(([a], [b]) => {
      if (typeof a === "string") return (up ? 1 : -1) * a.localeCompare(b, "en", {numeric: true});
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return up ? a - b : b - a;
    });
    body.append(...rows.map(r => r[1]));
  }));

  // Searching and filtering.
  const search = $("#search")[0], chips = $(".tools button[data-f]"), told = $("#told")[0];
  const rows = $("#changes .rows tbody tr"), names = rows.map(r => (r.cells[0].textContent + " " + r.cells[1].textContent).toLowerCase());
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const want = chips.find(c => c.getAttribute("aria-pressed") === "true").dataset.f;
    let n = 0;
    rows.forEach((r, i) => {
      const hit = (want === "all" || r.className === want || want === "changed" && r.className !== "same") &&
        words.every(w => names[i].includes(w));
      r.hidden = !hit;
      n += hit;
    });
    told.textContent = n < rows.length ? n + " of " + rows.length + " rows" : "";
  };
  const press = f => {
    chips.forEach(c => c.setAttribute("aria-pressed", c.dataset.f === f));
    show();
  };
  if (search) {
    search.addEventListener("input", show);
    chips.forEach(c => {
      c.addEventListener("click", () => press(c.dataset.f));
      const of = rows.filter(r => r.className === c.dataset.f || c.dataset.f === "changed" && r.className !== "same").length;
      c.hidden = c.dataset.f !== "all" && (of === 0 || of === rows.length);
    });
    chips[0].hidden = chips.slice(1).every(c => c.hidden);
    search.closest(".tools").hidden = rows.length < 9;
    press(rows.length > 30 && rows.some(r => r.className !== "same") ? "changed" : "all");
  }

  // Long tables without a search show what changed until they are asked for the rest.
  $(".main .rows").forEach(t => {
    const same = $("tr.same", t);
    if (t.tBodies[0].rows.length <= 30 || !same.length) return;
    const tools = document.createElement("div"), more = document.createElement("button");
    tools.className = "tools";
    more.type = "button";
    more.textContent = "Show " + same.length + " rows that did not change";
    more.addEventListener("click", () => { same.forEach(r => { r.hidden = false; }); tools.remove(); });
    same.forEach(r => { r.hidden = true; });
    tools.append(more);
    t.after(tools);
  });

  // Permalinks: what is linked to is shown and opened.
  const go = () => {
    let at = null;
    try { at = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (e) { return; }
    if (!at) return;
    if (at.hidden && search) { search.value = ""; press("all"); }
    at.hidden = false;
    for (let d = at.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    at.scrollIntoView();
  };
  addEventListener("hashchange", go);
  go();

  // What a mark in a picture stands for.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const hint = e => {
    const text = e.target.dataset && e.target.dataset.tip;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect(), x = e.pageX ?? 0, y = e.pageY ?? 0;
    tip.style.left = Math.max(4, Math.min(x + 12, scrollX + document.documentElement.clientWidth - box.width - 8)) + "px";
    tip.style.top = (e.clientY > innerHeight - box.height - 30 ? y - box.height - 12 : y + 16) + "px";
  };
  addEventListener("pointerover", hint);
  addEventListener("pointerdown", hint);
  addEventListener("keydown", e => { if (e.key === "Escape") tip.hidden = true; });

  // A click on a mark leads to its kernel.
  addEventListener("click", e => {
    const to = e.target.dataset && e.target.dataset.to;
    if (to && document.getElementById(to)) location.hash = to;
  });

  // Steps: + and - zoom, arrows move, 0 shows all; the steps of both sides move together.
  const zoomed = $(".zoom"), keys = "+ and - zoom, arrows move, 0 shows all";
  zoomed.forEach(z => z.setAttribute("aria-label", z.getAttribute("aria-label") + ": " + keys));
  new Set(zoomed.map(z => z.closest("section"))).forEach(s => {
    const said = document.createElement("span");
    said.className = "keys";
    said.textContent = " A click on a mark leads to its kernel. Keys: " + keys + ".";
    s.querySelector(".about").append(said);
  });
  let zoom = 1;
  const widen = (by, at, centre) => {
    const old = zoom;
    zoom = Math.min(32, Math.max(1, by === 0 ? 1 : zoom * by));
    zoomed.forEach(z => { z.firstElementChild.style.width = 100 * zoom + "%"; });
    const left = (at.scrollLeft + centre) * zoom / old - centre;
    zoomed.forEach(z => { z.scrollLeft = left; });
  };
  zoomed.forEach(z => {
    z.addEventListener("keydown", e => {
      const by = {"+": 2, "=": 2, "-": .5, "0": 0}[e.key];
      if (by === undefined || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      widen(by, z, z.clientWidth / 2);
    });
    z.addEventListener("wheel", e => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      widen(e.deltaY < 0 ? 1.25 : .8, z, e.clientX - z.getBoundingClientRect().left);
    }, {passive: false});
    z.addEventListener("scroll", () => zoomed.forEach(o => { if (Math.abs(o.scrollLeft - z.scrollLeft) > 1) o.scrollLeft = z.scrollLeft; }));
  });

  // Commands are copied by a button, where the browser allows it.
  if (navigator.clipboard) $("pre").forEach(p => {
    const b = document.createElement("button"), text = p.textContent;
    b.type = "button";
    b.className = "copy";
    b.textContent = "Copy";
    b.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      b.textContent = "Copied";
    });
    p.prepend(b);
  });

  // The report inside, as a file.
  $(".save").forEach(b => b.addEventListener("click", async () => {
    const packed = Uint8Array.from(atob(document.getElementById("report").textContent.trim()), c => c.charCodeAt(0));
    const json = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
    const a = document.createElement("a");
    a.href = URL.createObjectURL(json);
    a.download = "nsgate.json";
    a.click();
    URL.revokeObjectURL(a.href);
  }));
})();
