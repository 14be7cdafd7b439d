// Records which of the console's buttons and choices a test has seen and used.

import type { Page } from "playwright-core";

export interface Pressed {
  /** Controls that were shown but not used, sorted. */
  unused(): Promise<string[]>;
}

/**
 * Tracks every control that the page shows or the test uses, by its accessible name and the page's title. Ignores controls that only show up while a request is
 * in flight or the page renders. Don't reload the page.
 * @param names patterns for names of records, sites and people, which become `…` in controls' names
 */
export async function trackPressed(page: Page, names: readonly RegExp[]): Promise<Pressed> {
  await page.evaluate(`(${recorder})(${JSON.stringify(names.map(({ source }) => source))})`);
  return {
    unused: () =>
      page.evaluate<string[]>("[...window.shownControls].filter((name) => !window.usedControls.has(name)).sort()"),
  };
}

/** Runs in the page. */
const recorder = `(names) => {
  const controls = "button, a[href], summary, input, textarea, option, [role=menuitem], [role=menuitemcheckbox], [role=option], [role=combobox], [role=tab]";
  const shown = (window.shownControls = new Set());
  const used = (window.usedControls = new Set());
  // innerText is sometimes empty although there's text on the screen.
  const textIn = (node) => node.nodeType === Node.TEXT_NODE ? node.data : [...node.childNodes].map(textIn).join(" ").trim();
  const labelOf = (element) =>
    element.getAttribute("aria-label") ||
    [...(element.labels ?? [])].map((label) => label.innerText).join(" ") ||
    (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.innerText ?? "").join(" ").trim() ||
    element.innerText || element.placeholder || element.title || textIn(element) || element.outerHTML.slice(0, 100);
  const plain = (text) => names
    .reduce((all, name) => all.replace(new RegExp(name, "g"), "…"), text.replace(/\\s+/g, " ").trim())
    .replace(/^(Created|Changed|Deleted) .*/i, "an entry of the history")
    .replace(/[0-9]+/g, "0");
  let lastTitle = "";
  const nameOf = (element, isUsed) => {
    const select = element.closest("select");
    const name = element.tagName === "OPTION" ? labelOf(select) + ": " + element.text : labelOf(element);
    // Every column in a file can become every field, which is too many choices.
    if (select && [...select.options].some(({ text }) => text === "not imported")) return "";
    const menu = element.closest("[data-notices], .MuiPopover-root, .MuiPopper-root");
    const frame = element.closest("header, nav, [data-skip]");
    // All resources' tables work alike.
    const title = document.querySelector("#main-content h1")?.innerText.replace(/^(Brands|Order statuses|Locations)$/, "Records");
    if (title) lastTitle = title;
    // Between pages there's no title, and a control used then belongs to the previous page.
    return menu ? "Menu: " + plain(name) : frame ? plain(name) : title || isUsed ? lastTitle + ": " + plain(name) : "";
  };
  const isShown = (element) => (element.closest("select") ?? element).checkVisibility({ visibilityProperty: true }) && !element.closest("[aria-hidden=true]") && !element.disabled && !element.readOnly && element.getAttribute("aria-disabled") !== "true";

  const addShown = (within = document) => {
    for (const element of within.querySelectorAll(controls)) if (element.type !== "file" && isShown(element)) shown.add(nameOf(element));
    shown.delete("");
  };
  const use = ({ target }) => {
    const element = target.closest?.(controls) ?? target.closest?.("label")?.control;
    if (element) used.add(nameOf(element, true));
    // A test may close a dialog before the page has settled.
    const dialog = element?.closest("[role=dialog]");
    if (dialog) addShown(dialog);
    const chosen = target.tagName === "SELECT" && target.selectedOptions[0];
    if (chosen) used.add(nameOf(chosen, true));
  };
  for (const event of ["mousedown", "click", "change", "input"]) document.addEventListener(event, use, true);
  let inFlight = 0;
  let changes = 0;
  const changed = () => {
    const change = ++changes;
    const atRest = () => change === changes && inFlight === 0 && !document.querySelector("[role=progressbar]") && addShown();
    requestIdleCallback(() => requestIdleCallback(atRest));
  };
  const { fetch } = window;
  window.fetch = async (...request) => {
    inFlight++;
    const ended = () => (inFlight--, changed());
    try {
      const response = await fetch(...request);
      response.clone().arrayBuffer().then(ended, ended);
      return response;
    } catch (error) {
      ended();
      throw error;
    }
  };
  new MutationObserver(changed).observe(document.body, { childList: true, subtree: true });
  changed();
}`;
