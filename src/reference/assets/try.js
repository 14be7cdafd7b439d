// The forms on the reference page. Beside each, you see its request as code while you fill it in, and below it the response once you've sent it.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const keyField = document.querySelector("#key");
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
    for (const input of form.querySelectorAll("input")) {
      const { name, dataset } = input;
      const value = input.type === "checkbox" ? String(Number(input.checked)) : input.value;
      if (value === (dataset.default ?? "")) continue;
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

  // The request as code. Without a key, the code reads it from the environment.

  const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

  const toCurl = ({ method, url, headers, body }, key) => {
    const parts = [key ? `-H ${shell(`X-API-AUTH: ${key}`)}` : '-H "X-API-AUTH: $KEY"'];
    if (method !== (body === undefined ? "GET" : "POST")) parts.push(`-X ${method}`);
    if (url.includes("[")) parts.push("-g");
    for (const [name, value] of Object.entries(headers)) parts.push(`-H ${shell(`${name}: ${value}`)}`);
    // After `-d`, curl takes `@...` for a file name.
    if (body !== undefined) parts.push(`${body.startsWith("@") ? "--data-raw" : "-d"} ${shell(body)}`);
    return `curl ${parts.join(" \\\n  ")} \\\n  ${shell(url)}`;
  };

  /** Each language's way to write headers, from pairs of code. */
  const list = (pairs, separator, indent) => pairs.map((pair) => `\n${indent}${pair.join(separator)},`).join("");

  const toJavascript = ({ method, url, headers, body }, key) => {
    const literal = (text) => `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;
    const pairs = [["X-API-AUTH", key], ...Object.entries(headers)].map(([name, value]) => [
      JSON.stringify(name),
      value ? JSON.stringify(value) : "process.env.KEY",
    ]);
    const members = [`headers: {${list(pairs, ": ", "    ")}\n  }`];
    if (method !== "GET") members.unshift(`method: "${method}"`);
    if (body !== undefined) members.push(`body: ${literal(body)}`);
    return `const response = await fetch(${JSON.stringify(url)}, {${list(
      members.map((one) => [one]),
      "",
      "  ",
    )}\n});\nconsole.log(response.status, await response.text());`;
  };

  const toPython = ({ method, url, headers, body }, key) => {
    const literal = (text) => `"""${text.replaceAll("\\", "\\\\").replace(/"(?="")|"$/g, '\\"')}"""`;
    const pairs = [["X-API-AUTH", key], ...Object.entries(headers)].map(([name, value]) => [
      JSON.stringify(name),
      value ? JSON.stringify(value) : 'os.environ["KEY"]',
    ]);
    const members = [JSON.stringify(url), `method="${method}"`, `headers={${list(pairs, ": ", "        ")}\n    }`];
    if (body !== undefined) members.push(`data=${literal(body)}.encode()`);
    return `import os, urllib.request\n\nrequest = urllib.request.Request(${list(
      members.map((one) => [one]),
      "",
      "    ",
    )}\n)\nwith urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())`;
  };

  const toPhp = ({ method, url, headers, body }, key) => {
    const literal = (text) => `'${text.replace(/[\\']/g, "\\$&")}'`;
    const lines = [
      key ? literal(`X-API-AUTH: ${key}`) : "'X-API-AUTH: ' . getenv('KEY')",
      ...Object.entries(headers).map(([name, value]) => literal(`${name}: ${value}`)),
    ];
    const pairs = [
      ["'method'", `'${method}'`],
      [
        "'header'",
        `[${list(
          lines.map((one) => [one]),
          "",
          "        ",
        )}\n    ]`,
      ],
      ["'ignore_errors'", "true"],
    ];
    if (body !== undefined) pairs.push(["'content'", literal(body)]);
    return `<?php\n$context = stream_context_create(['http' => [${list(pairs, " => ", "    ")}\n]]);\necho file_get_contents(${literal(url)}, false, $context);`;
  };

  const writers = { sh: toCurl, js: toJavascript, python: toPython, php: toPhp };

  const showCode = (form) => {
    const { path, ...request } = requestOf(form);
    const write = writers[root.dataset.lang] ?? toCurl;
    const code = form.closest(".operation").querySelector(".line");
    code.textContent = write({ ...request, url: location.origin + path }, keyField.value.trim());
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
    const key = keyField.value.trim();
    const isDelete = method === "DELETE" || /^\s*delete\s*$/i.test(headers["X-HTTP-Method-Override"]);
    if (isDelete && !/[?&]dryRun=1/.test(path) && !mayDelete(key))
      return show(form, "Not sent", "Nothing was deleted.");
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

  const all = document.querySelectorAll(".try form");
  const showAll = () => all.forEach(showCode);
  for (const form of all) {
    form.addEventListener("input", () => showCode(form));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form).catch((error) => show(form, "No response", String(error)));
    });
  }
  document.addEventListener("choice", showAll);
  keyField.addEventListener("input", showAll);
  showAll();
});
