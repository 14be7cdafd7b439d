// The script of every documentation page. It runs before the page is painted, so that nothing moves when the chosen language is applied.
(() => {
  const root = document.documentElement;
  const choices = { lang: ["sh", "js", "python"], format: ["json", "xml"] };

  /** Returns the stored choice. If storage is switched off in the browser, a choice is valid for one page only. */
  const recall = (name) => {
    try {
      return localStorage.getItem(`storefront-${name}`);
    } catch {
      return null;
    }
  };
  const remember = (name, value) => {
    try {
      localStorage.setItem(`storefront-${name}`, value);
    } catch {}
  };

  for (const [name, values] of Object.entries(choices)) {
    const known = recall(name);
    root.dataset[name] = values.includes(known) ? known : values[0];
  }

  const showPressed = () => {
    for (const button of document.querySelectorAll("[data-set]")) {
      const [name, value] = button.dataset.set.split("=");
      button.setAttribute("aria-pressed", String(root.dataset[name] === value));
    }
  };

  const choose = (button) => {
    const [name, value] = button.dataset.set.split("=");
    const before = button.getBoundingClientRect().top;
    root.dataset[name] = value;
    remember(name, value);
    showPressed();
    // The blocks above may have changed their height: scroll, so that the button stays at its position on the screen.
    scrollBy(0, button.getBoundingClientRect().top - before);
    document.dispatchEvent(new Event("choice"));
  };

  /** Copies the text. Browsers offer `navigator.clipboard` only on HTTPS and localhost; elsewhere, the text is selected and copied. */
  const copyText = async (code) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(code.textContent);
    const selection = getSelection();
    selection.selectAllChildren(code);
    document.execCommand("copy");
    selection.removeAllRanges();
  };

  const copy = async (button) => {
    const said = await copyText(button.closest(".code").querySelector("code")).then(
      () => "Copied",
      () => "Not copied",
    );
    button.textContent = said;
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  };

  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button");
    if (button?.dataset.set) choose(button);
    if (button?.className === "copy") copy(button);
    // On a phone, a link to a part of the same page would leave the list of pages open: close it.
    target.closest?.(".side a")?.closest(".side").hidePopover?.();
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const address of document.querySelectorAll(".origin")) address.textContent = location.origin;
    showPressed();
  });
})();
