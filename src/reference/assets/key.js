// The field for the API key. Asks the server which site the key belongs to and what it may do, and says at each form what it would change.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const field = document.querySelector("#key");
  const meaning = document.querySelector("#key-meaning");
  const unknown = meaning.textContent;
  const notes = [...document.querySelectorAll(".writes")];
  const general = notes[0]?.textContent;

  /** @param site the key's site, whether it's a sandbox, and whether the key is read-only; null if unknown */
  const show = (site, text) => {
    if (site) Object.assign(root.dataset, { site: site.name, kind: site.isSandbox ? "sandbox" : "live" });
    else for (const name of ["site", "kind"]) delete root.dataset[name];
    const place = site && `${site.isSandbox ? "sandbox" : "live site"} ${site.name}`;
    const changed = site?.isSandbox ? `only the ${place}` : `the ${place}`;
    const [note, effect] = site?.isReadOnly
      ? ["Your key is read-only, so the server will reject this.", `It can only read the ${place}.`]
      : [site ? `This changes ${changed}.` : general, `It changes ${changed}.`];
    for (const one of notes) one.textContent = note;
    meaning.textContent = site ? `This is a ${site.isSandbox ? "sandbox" : "live"} key. ${effect}` : text;
  };

  const forget = (text) => show(null, text);

  const check = async (key) => {
    const response = await fetch("/restapi/key.json", { headers: { "X-API-AUTH": key }, cache: "no-store" });
    const content = await response.json();
    if (field.value.trim() !== key) return;
    if (response.status === 401) return forget("The server rejected this key.");
    if (!response.ok) return forget(`The server returned ${response.status}: ${content.detail}.`);
    const isReadOnly = !content.Rights.some((right) => right.endsWith(":write") && right !== "webhooks:write");
    show({ name: content.Site, isSandbox: content.Sandbox, isReadOnly });
  };

  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    const key = field.value.trim();
    forget(
      key === ""
        ? unknown
        : "This doesn’t look like a complete key: expected 46 characters starting with sfk_ (51 with sfk_test_).",
    );
    if (!/^sfk_\w{42,}$/.test(key)) return;
    meaning.textContent = "Checking this key …";
    timer = setTimeout(() => check(key).catch((error) => forget(`Can’t reach the server: ${error.message}`)), 300);
  });
});
