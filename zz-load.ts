import { startTestConsole } from "./test/support/console/server.ts";
import { withActor } from "./src/system/with-actor.ts";
const server = await startTestConsole();
const anna = await server.signIn("anna");
const engine = withActor(server.engine, "console:anna", "big");
for (let n = 0; n < 100_000; n += 1000) await engine.commit(Array.from({ length: 1000 }, (_, i) => ({ site: server.site.ID, resource: "brand", operation: "create" as const, valuesJson: JSON.stringify({ Name: `Brand ${n + i}`, AccountNumber: `${n + i}`, Address: { Town: "Leeds" } }), actor: "operator", at: Date.now() })));
async function measure(name: string, work: () => Promise<unknown>) {
  let worst = 0, last = performance.now(), on = true; const all: number[] = [];
  const tick = () => { const now = performance.now(); all.push(now - last); worst = Math.max(worst, now - last); last = now; if (on) setImmediate(tick); };
  setImmediate(tick);
  const t = performance.now(); const r = await work(); on = false;
  all.sort((a, b) => a - b);
  console.log(name, `${(performance.now() - t).toFixed(0)} ms, longest tick ${worst.toFixed(1)} ms, p99 ${all[Math.floor(all.length * 0.99)]?.toFixed(1)}`, r);
}
await measure("page, nothing selected", async () => (await anna.call("GET", "/sites/shop/history?actor=nobody")).json.next);
await measure("all pages", async () => { let b: number | null = null, n = 0; do { const { json } = await anna.call("GET", `/sites/shop/history?actor=nobody${b ? `&before=${b}` : ""}`); b = json.next; n++; } while (b); return n; });
await measure("csv", async () => (await anna.call("GET", "/sites/shop/history/export")).text.length);
await measure("csv, nothing selected", async () => (await anna.call("GET", "/sites/shop/history/export?actor=nobody")).text.length);
await measure("range", async () => (await anna.call("GET", "/sites/shop/history?from=2026-11-26T00:00:00Z&limit=1&single=1")).json.entries.length);
await server.stop();
