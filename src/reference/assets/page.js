// Runs on every documentation page before it's painted, so that nothing moves when the chosen language is applied.
(() => {
  const root = document.documentElement;
  const choices = { lang: ["sh", "js", "python", "php"], format: ["json", "xml"] };

  /** If the browser's storage is turned off, a choice only lasts for one page. */
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
    for (const group of document.querySelectorAll(".choice")) {
      const buttons = [...group.children];
      const isChosen = ({ dataset }) => Object.entries(root.dataset).some((pair) => pair.join("=") === dataset.set);
      // Examples that aren't in the chosen language are shown in their first.
      const chosen = buttons.find(isChosen) ?? buttons[0];
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
    }
  };

  const choose = (button) => {
    const [name, value] = button.dataset.set.split("=");
    const before = button.getBoundingClientRect().top;
    root.dataset[name] = value;
    remember(name, value);
    showPressed();
    // Blocks above may have changed their height, so scroll to keep the button where it was.
    scrollBy(0, button.getBoundingClientRect().top - before);
    document.dispatchEvent(new Event("choice"));
  };

  /** Browsers only offer `navigator.clipboard` on HTTPS and localhost. Elsewhere, we select the text and copy it. */
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
    // On a phone, a link within the same page would leave the list of pages open.
    target.closest?.(".side a")?.closest(".side").hidePopover?.();
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const address of document.querySelectorAll(".origin")) address.textContent = location.origin;
    showPressed();
  });
})();
