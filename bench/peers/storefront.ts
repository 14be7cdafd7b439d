import { makeSite, startStorefront } from "../site.ts";
import { apiFor } from "./interface.ts";
import type { Peer } from "./peer.ts";

/** This server, with which each peer is compared. */
export const storefront: Peer = {
  name: "storefront",
  packages: {},
  note: "SQLite in WAL mode, synchronous=full, a journal entry per write.",
  async start({ folder, brands }) {
    const site = await makeSite(folder, brands.length);
    return { server: await startStorefront(site), api: apiFor(site.key) };
  },
};
