// The operations of the storefront interface, for this server and for the servers written by hand.

import { sampleBrand } from "../scenarios.ts";
import { type Api, toBrand, toRequest } from "./peer.ts";

export function apiFor(key: string): Api {
  const headers = { "X-API-AUTH": key };
  const list = "/restapi/brands.json";
  return {
    lookUp: (id) => ({ request: toRequest("GET", `/restapi/brands/${id}.json`, headers), read: toBrand }),
    list: { request: toRequest("GET", list, headers), read: (brands) => brands.map(toBrand) },
    create: { request: toRequest("POST", list, headers, sampleBrand(0)), read: ({ ID }) => ID },
    update: { request: toRequest("PUT", list, headers, { ID: 7, Name: "Changed [<id>]" }), read: toBrand },
  };
}
