// Some seeds of the simulation of whole servers; `npm run simulate` runs more. One of the first 100 seeds finds each planted fault.

import { describe, expect, test } from "bun:test";
import { plantedServerFaults } from "../../simulation/server/planted-faults.ts";
import { type ServerReport, simulateServers } from "../../simulation/server/simulation.ts";

/** The seeds of a normal run. They take about seven seconds of CPU. */
const seeds = 100;
/** The seeds of which one must find each planted fault. */
const seedsPerFault = 100;

describe("servers in a simulation", () => {
  const reports: ServerReport[] = [];

  test("every response is what the database had, and every acknowledged write is there once", async () => {
    for (let seed = 1; seed <= seeds; seed++) reports.push(await simulateServers(seed));
    const faults = reports.flatMap((report, index) =>
      report.faults.map((fault) => `${fault} (to repeat: npm run simulate -- 1 ${index + 1})`),
    );
    expect(faults).toEqual([]);
    // The seeds must cause these events. The effect of a seed changes with the program.
    const sum = (name: keyof ServerReport["counts"]) => reports.reduce((total, { counts }) => total + counts[name], 0);
    expect(sum("requests")).toBeGreaterThan(1000);
    expect(sum("commits")).toBeGreaterThan(200);
    expect(sum("transactions")).toBeGreaterThan(20);
    for (const name of ["kills", "reloads", "restores", "renewals", "failovers", "restarts", "revocations"] as const)
      expect(sum(name)).toBeGreaterThan(5);
  });

  test("is the same for the same seed, to the last byte", async () => {
    for (const seed of [1, 2, 3]) expect(await simulateServers(seed)).toEqual(reports[seed - 1] as ServerReport);
  });

  test.each(Object.keys(plantedServerFaults))("finds a planted fault: %s", async (name) => {
    const plant = plantedServerFaults[name] as (typeof plantedServerFaults)[string];
    const found: string[] = [];
    for (let number = 0; number <= seedsPerFault && found.length === 0; number++) {
      const { faults } = await simulateServers(number === 0 ? plant.seed : number, { plant });
      found.push(...faults.filter((fault) => plant.report.test(fault)));
    }
    expect(found).not.toEqual([]);
  });
});
