"use strict";
// What a mark or a state says is data: it is only ever set as text.

const tip = document.querySelector(".tip");

function tell(mark) {
  const box = mark.getBoundingClientRect();
  tip.textContent = mark.dataset.tip;
  tip.hidden = false;
  const left = Math.min(box.right + 8, innerWidth - tip.offsetWidth - 8);
  // Assigned, not written as a style attribute, which the policy of the page refuses.
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, box.top - tip.offsetHeight - 8)}px`;
}

function hush() {
  tip.hidden = true;
}

// One mark of a chart is in the tab order; arrows go on from there.
for (const chart of document.querySelectorAll(".chart")) {
  const marks = [...chart.querySelectorAll("[data-tip]")];
  if (marks.length) marks[0].setAttribute("tabindex", "0");
  marks.forEach((mark, place) => {
    mark.addEventListener("mouseenter", () => tell(mark));
    mark.addEventListener("mouseleave", hush);
    mark.addEventListener("focus", () => tell(mark));
    mark.addEventListener("blur", hush);
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hush();
      if (!step) return;
      event.preventDefault();
      move(mark, marks[(place + step + marks.length) % marks.length]);
    });
  });
}

function move(from, to) {
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const problem = button.closest(".problem");
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(pressed));
    for (const series of problem.querySelectorAll(".series")) {
      if (series.dataset.run === button.dataset.run) series.classList.toggle("chosen", pressed);
    }
    const any = problem.querySelector('.legend [aria-pressed="true"]');
    problem.classList.toggle("choosing", any !== null);
  });
}

for (const figure of document.querySelectorAll(".lifted")) {
  const nodes = [...figure.querySelectorAll(".node")];
  const edges = [...figure.querySelectorAll(".edge")];
  const told = figure.querySelector(".told");
  let kept = null;

  function look(node) {
    const id = node.dataset.node;
    for (const other of nodes) {
      const isTwin = other !== node && other.dataset.base === node.dataset.base;
      other.classList.toggle("twin", isTwin);
      other.classList.toggle("looked", other === node);
    }
    for (const edge of edges) {
      edge.classList.toggle("lit", edge.dataset.from === id || edge.dataset.to === id);
    }
    told.textContent = node.dataset.told;
  }

  function keep(node) {
    kept = kept === node ? null : node;
    for (const other of nodes) other.setAttribute("aria-pressed", String(other === kept));
    look(node);
  }

  // The heaviest edge out of a state, or into it.
  function along(node, here, there) {
    const found = edges.filter((edge) => edge.dataset[here] === node.dataset.node);
    found.sort((a, b) => b.getAttribute("stroke-width") - a.getAttribute("stroke-width"));
    return found.length ? nodes.find((other) => other.dataset.node === found[0].dataset[there]) : null;
  }

  function beside(node, step) {
    const layer = nodes.filter((other) => other.dataset.x === node.dataset.x);
    layer.sort((a, b) => a.dataset.y - b.dataset.y);
    return layer[layer.indexOf(node) + step] || null;
  }

  for (const node of nodes) {
    node.addEventListener("mouseenter", () => kept || look(node));
    node.addEventListener("focus", () => kept || look(node));
    node.addEventListener("click", () => keep(node));
    node.addEventListener("keydown", (event) => {
      const moves = {
        ArrowRight: () => along(node, "from", "to"),
        ArrowLeft: () => along(node, "to", "from"),
        ArrowDown: () => beside(node, 1),
        ArrowUp: () => beside(node, -1),
      };
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        keep(node);
      } else if (event.key === "Escape" && kept) {
        keep(kept);
      } else if (moves[event.key]) {
        event.preventDefault();
        const next = moves[event.key]();
        if (next) move(node, next);
      }
    });
  }
}
