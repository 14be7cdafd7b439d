import { lookup as lookupName } from "node:dns/promises";
import { systemClock } from "./clock.ts";
import { type LookupAddresses, Lookups } from "./lookups.ts";

const lookups = new Lookups(async (name) => {
  const all = await lookupName(name, { all: true });
  if (all.length === 0) throw new Error("no addresses");
  return all.map(({ address }) => address);
}, systemClock);

/** Milliseconds for a look-up that has no signal. */
const lookupTimeout = 15_000;

/** The addresses of a name by the resolver of the system, at least one. @param signal ends the wait; by default after 15 s */
export const lookupAddresses: LookupAddresses = (name, signal = AbortSignal.timeout(lookupTimeout)) =>
  lookups.addressesOf(name, signal);
