// Lists, creates, updates and deletes order statuses. Usage: javascript.mjs <address> <API key>

const [address, key] = process.argv.slice(2);

/** Returns the response. Throws with the problem document if the status isn't 2xx. */
async function call(method, path, body) {
  const response = await fetch(`${address}/restapi/${path}`, { method, body, headers: { "X-API-AUTH": key } });
  if (!response.ok) throw new Error(await response.text());
  return response;
}

async function callJson(method, path, record) {
  return (await call(method, path, record && JSON.stringify(record))).json();
}

const statuses = await callJson("GET", "orderstatuses.json");
console.log(`listed ${statuses.length} order statuses`);

const created = await callJson("POST", "orderstatuses.json", { Name: "On hold" });
console.log(`created ${created.Name}`);

const updated = await callJson("PUT", `orderstatuses/${created.ID}.json`, { Name: "Waiting" });
console.log(`updated ${updated.Name}`);

const deleted = await callJson("DELETE", `orderstatuses/${created.ID}.json`);
console.log(`deleted ${deleted.Name}`);

// Node has no XML parser. On a web page, use DOMParser.
const name = "Smith & Sons".replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const response = await call("POST", "orderstatuses.xml", `<OrderStatus><Name>${name}</Name></OrderStatus>`);
const [, id, stored] = /ID="(\d+)"><Name>([^<]*)</.exec(await response.text());
console.log(`created in XML ${stored.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")}`);
await call("DELETE", `orderstatuses/${id}.xml`);
