// The scenarios for all peers, and checks that their responses are right.

import type { Request } from "../load.ts";
import { sampleBrand } from "../scenarios.ts";
import { type Api, type Brand, perform, type Running } from "./peer.ts";

export interface PeerScenario {
  readonly name: string;
  readonly connections: number;
  requestOf(api: Api): Request;
  /**
   * Sends the request once and checks the response. Returns a function to call after the load, which checks that `completed` requests took effect.
   * @throws Error if a response is wrong
   */
  check(running: Running): Promise<(completed: number) => Promise<void>>;
}

/** Creates come last, so that the list keeps its length until then. */
export function scenariosFor(count: number): PeerScenario[] {
  return [
    {
      name: "look-up",
      connections: 32,
      requestOf: (api) => api.lookUp(500).request,
      check: (running) => always(() => checkBrand(running, 500, sampleBrand(500))),
    },
    {
      name: `list of ${count}`,
      connections: 32,
      requestOf: (api) => api.list.request,
      check: (running) => always(() => checkList(running, count)),
    },
    { name: "update, 64 connections", connections: 64, requestOf: (api) => api.update.request, check: checkUpdate },
    { name: "create, 64 connections", connections: 64, requestOf: (api) => api.create.request, check: checkCreate },
  ];
}

async function always(check: () => Promise<void>): Promise<() => Promise<void>> {
  await check();
  return check;
}

async function checkList({ server, api }: Running, count: number): Promise<void> {
  const brands = await perform(server, api.list);
  const wanted = Array.from({ length: count }, (_, i) => sampleBrand(i + 1));
  const byName = (a: Brand, b: Brand) => (a.Name < b.Name ? -1 : 1);
  if (!Bun.deepEquals(brands.toSorted(byName), wanted.toSorted(byName))) {
    throw new Error(`${server.name} was given ${count} brands, but its list of ${brands.length} differs`);
  }
}

async function checkUpdate(running: Running) {
  const { server, api } = running;
  await perform(server, api.update);
  const changed = await nameOf(running, 7);
  if (changed !== "Changed 0") throw new Error(`${server.name} still has the name "${changed}" after an update`);
  return async () => {
    const name = await nameOf(running, 7);
    if (!/^Changed [1-9]/.test(name)) throw new Error(`${server.name} still has the name "${name}" after many updates`);
  };
}

/** IDs are consecutive, so two of them tell how many brands were created in between. */
async function checkCreate(running: Running) {
  const { server, api } = running;
  const first = await perform(server, api.create);
  await checkBrand(running, first, sampleBrand(0));
  return async (completed: number) => {
    const made = (await perform(server, api.create)) - first;
    if (made < completed) throw new Error(`${server.name} confirmed ${completed} creates but stored ${made} brands`);
  };
}

async function checkBrand({ server, api }: Running, id: number, wanted: Brand): Promise<void> {
  const brand = await perform(server, api.lookUp(id));
  if (!Bun.deepEquals(brand, wanted)) throw new Error(`${server.name} has ${JSON.stringify(brand)} as brand ${id}`);
}

async function nameOf({ server, api }: Running, id: number): Promise<string> {
  return (await perform(server, api.lookUp(id))).Name;
}
