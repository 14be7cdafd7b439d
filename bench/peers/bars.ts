// Draws the picture of the README: the requests per second of this server beside those of servers that one could use instead.

import type { Figures } from "../report.ts";
import type { Peer } from "./peer.ts";

/** Size of the picture, and positions in it, in pixels. */
const width = 760;
const panelHeight = 106;
const labelWidth = 215;
const maxBar = 440;
const rowHeight = 24;

const style = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .own { fill: #1a7f5a }
  .other { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .own { fill: #3fb984 }
    .other { fill: #6e7681 }
  }`;

/**
 * Draws one panel for each scenario, with a bar for each server. Within a panel, the length of a bar is proportional to the requests per second.
 * @param figures of all servers in all scenarios, grouped by scenario
 * @param shown the servers to draw, in this order. A server without figures has no bar
 * @returns an SVG document, for light and dark backgrounds
 */
export function drawBars(figures: readonly Figures[], shown: readonly Pick<Peer, "name">[]): string {
  const panels = [...Map.groupBy(figures, ({ scenario }) => scenario)].map(([scenario, all]) => ({
    scenario,
    bars: shown.flatMap(({ name }) => all.filter(({ server }) => server === name)),
  }));
  const drawn = panels.map(({ scenario, bars }, index) => drawPanel(scenario, bars, 8 + index * panelHeight));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${panels.length * panelHeight + 8}" width="${width}" role="img">`,
    "<title>Requests per second of this server and of others</title>",
    `<style>${style}\n</style>`,
    ...drawn.flat(),
    "</svg>",
    "",
  ].join("\n");
}

function drawPanel(scenario: string, bars: readonly Figures[], top: number): string[] {
  const fastest = Math.max(...bars.map(({ perSecond }) => perSecond));
  const rows = bars.flatMap(({ server, perSecond }, index) => {
    const y = top + 26 + index * rowHeight;
    const length = Math.max(1, (maxBar * perSecond) / fastest).toFixed(1);
    return [
      `<text x="0" y="${y + 13}">${toLabel(server)}</text>`,
      `<rect class="${index === 0 ? "own" : "other"}" x="${labelWidth}" y="${y}" width="${length}" height="17" rx="3"/>`,
      `<text x="${labelWidth + Number(length) + 8}" y="${y + 13}">${toNumber(perSecond)}</text>`,
    ];
  });
  return [`<text class="title" x="0" y="${top + 14}">${Bun.escapeHTML(scenario)}: requests per second</text>`, ...rows];
}

/** Returns the name of a server as the README writes it. */
function toLabel(server: string): string {
  return Bun.escapeHTML(
    server === "storefront" ? "Storefront" : server.replace(/ \d[\d.]*/g, "").replace(" by hand", ""),
  );
}

function toNumber(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en-US");
}
