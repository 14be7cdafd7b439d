// The forms on the reference page. They show the request as a curl command while you fill them in, and the response once you've sent it.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const shown = /^(content-type|etag|link|location|retry-after|x-total-count|x-request-id|idempotency-replayed)$/;

  const encode = (text) => encodeURIComponent(text.toWellFormed());

  /** Escapes typed filters, except for brackets, `=` and an `&` before another filter. */
  const encodeFilters = (typed) =>
    typed
      .split(/&(?=filter\[)/)
      .map((filter) => {
        const end = filter.includes("=") ? filter.indexOf("=") : filter.length;
        const name = encode(filter.slice(0, end)).replaceAll("%5B", "[").replaceAll("%5D", "]");
        return name + encode(filter.slice(end)).replace("%3D", "=").replaceAll("%2C", ",");
      })
      .join("&");

  const requestOf = (form) => {
    const format = root.dataset.format;
    let path = form.dataset[format] ?? form.dataset.json;
    const query = [];
    const headers = {};
    for (const { name, value, dataset } of form.querySelectorAll("input")) {
      if (value === "") continue;
      const encoded = encode(value).replaceAll("%2C", ",");
      if (dataset.in === "path") path = path.replace(`{${name}}`, encoded);
      if (dataset.in === "query") query.push(`${name}=${encoded}`);
      if (dataset.in === "typed") query.push(encodeFilters(value));
      if (dataset.in === "header") headers[name] = value;
    }
    const body = form.querySelector(`[data-body="${format}"]`)?.value || undefined;
    if (body !== undefined) headers["Content-Type"] = `application/${format}`;
    return { method: form.dataset.method, path: path + (query.length > 0 ? `?${query.join("&")}` : ""), headers, body };
  };

  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

  const curlOf = ({ method, path, headers, body }) => {
    const parts = ['-H "X-API-AUTH: $KEY"'];
    if (method !== (body === undefined ? "GET" : "POST")) parts.push(`-X ${method}`);
    if (path.includes("[")) parts.push("-g");
    for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
    // After `-d`, curl takes `@...` for a file name.
    if (body !== undefined) parts.push(`${body.startsWith("@") ? "--data-raw" : "-d"} ${quote(body)}`);
    return `curl ${parts.join(" ")} \\\n  ${quote(location.origin + path)}`;
  };

  const showLine = (form) => {
    form.querySelector(".line").textContent = curlOf(requestOf(form));
  };

  const readable = (text, type) => {
    if (/json/.test(type)) return JSON.stringify(JSON.parse(text), null, 2);
    let depth = 0;
    const lines = text
      .replace(/>\s*</g, ">\n<")
      .replace(/<(\w+)([^>]*)>\n<\/\1>/g, "<$1$2></$1>")
      .split("\n");
    const indented = lines.map((line) => {
      if (line.startsWith("</")) depth--;
      const result = "  ".repeat(Math.max(depth, 0)) + line;
      if (/^<[^/?][^>]*[^/]>$|^<[^/?]>$/.test(line)) depth++;
      return result;
    });
    return indented.join("\n");
  };

  const show = (form, label, text) => {
    const result = form.querySelector(".result");
    result.innerHTML =
      '<div class="code"><div class="bar"><span></span><button type="button" class="copy">Copy</button></div><pre tabindex="0" role="group" aria-label="Response"><code></code></pre></div>';
    result.querySelector("span").textContent = label;
    result.querySelector("code").textContent = text;
  };

  /** Asks before deleting from a live site. Only sandbox keys start with `sfk_test_`. */
  const mayDelete = (key) =>
    key === "" ||
    key.startsWith("sfk_test_") ||
    confirm(`Delete this record from the live site${root.dataset.site ? ` ${root.dataset.site}` : ""}?`);

  const send = async (form) => {
    const { method, path, headers, body } = requestOf(form);
    const key = document.querySelector("#key").value.trim();
    const isDelete = method === "DELETE" || /^\s*delete\s*$/i.test(headers["X-HTTP-Method-Override"]);
    if (isDelete && !mayDelete(key)) return show(form, "Not sent", "Nothing was deleted.");
    const all = { ...headers, ...(key ? { "X-API-AUTH": key } : {}) };
    const response = await fetch(path, { method, headers: all, body, cache: "no-store" });
    const lines = [...response.headers]
      .filter(([name]) => shown.test(name))
      .map(([name, value]) => `${name}: ${value}`);
    const text = await response.text();
    const type = response.headers.get("Content-Type") ?? "";
    const content = text === "" ? "" : `\n\n${readable(text, type)}`;
    show(form, `${response.status} ${response.statusText}`, lines.join("\n") + content);
  };

  for (const form of document.querySelectorAll(".try form")) {
    form.addEventListener("input", () => showLine(form));
    form.closest("details").addEventListener("toggle", () => showLine(form));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form).catch((error) => show(form, "No response", String(error)));
    });
  }
  document.addEventListener("choice", () => {
    for (const form of document.querySelectorAll(".try[open] form")) showLine(form);
  });
});
