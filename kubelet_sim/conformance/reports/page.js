// Search and filter. What is looked for stands in the address, so that a view can be sent to somebody.
"use strict";
const form = document.querySelector("form.filter");
const checks = [...document.querySelectorAll("details.check")];
const texts = checks.map((each) => each.textContent.toLowerCase());
const shown = document.querySelector("#shown");

function apply() {
  const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  checks.forEach((each, number) => {
    const fits = (!form.mark.value || form.mark.value.split(" ").includes(each.dataset.mark)) &&
      (!form.group.value || form.group.value === each.dataset.group) &&
      words.every((word) => texts[number].includes(word));
    each.hidden = !fits;
    count += fits ? 1 : 0;
  });
  document.querySelectorAll("section.run").forEach((run) => {
    run.hidden = !run.querySelector("details.check:not([hidden])");
  });
  shown.textContent = `${count} of ${checks.length}`;
}

function remember() {
  const state = new URLSearchParams();
  for (const name of ["q", "mark", "group"]) if (form[name].value) state.set(name, form[name].value);
  history.replaceState(null, "", `#${state}`);
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const name of ["q", "mark", "group"]) if (state.has(name)) form[name].value = state.get(name);
  apply();
}

form.addEventListener("input", () => { apply(); remember(); });
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", recall);
form.hidden = false;
recall();
