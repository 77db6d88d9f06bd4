"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (text) => {
    said.textContent = text;
    clearTimeout(say.timer);
    say.timer = setTimeout(() => { said.textContent = ""; }, 2500);
  };
  const text = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("small, sup").forEach((e) => e.remove());
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  // Tab-separated text for a spreadsheet: bare numbers, percentages in columns
  // of their own.
  const tsv = (table) => {
    const rows = [...table.rows];
    const twice = [];
    rows.forEach((r) => [...r.cells].forEach((c, i) => { if (c.dataset.p !== undefined) twice[i] = true; }));
    return rows.map((r, n) => [...r.cells].flatMap((c, i) => {
      const value = c.dataset.v !== undefined ? c.dataset.v : text(c);
      if (!twice[i]) return [value];
      return [value, n === 0 ? text(c) + " %" : (c.dataset.p !== undefined ? c.dataset.p : "")];
    }).join("\t")).join("\n") + "\n";
  };
  const copy = async (string) => {
    try {
      await navigator.clipboard.writeText(string);
    } catch {
      const area = document.createElement("textarea");
      area.value = string;
      area.className = "hidden";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  document.querySelectorAll(".copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const table = button.closest(".tabletop").parentElement.querySelector("table");
      await copy(tsv(table));
      button.focus();
      say("Table copied, ready to paste into a spreadsheet");
    });
  });
  document.querySelectorAll(".filter").forEach((label) => {
    label.hidden = false;
    const table = label.closest(".tabletop").parentElement.querySelector("table");
    label.querySelector("input").addEventListener("input", (event) => {
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      [...table.tBodies[0].rows].forEach((row) => {
        const all = row.textContent.toLowerCase();
        row.hidden = !words.every((w) => all.includes(w));
        if (!row.hidden) shown++;
      });
      say(shown + " of " + table.tBodies[0].rows.length + " rows");
    });
  });
  // Folded tables belong into print, a long list of cells does not.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((d) => !d.querySelector(".cells"));
    opened.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));
})();
