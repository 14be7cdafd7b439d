// Requests for brands to a server in another process.

import { fetchWithKey } from "./command.ts";

interface Brand {
  readonly ID: number;
  readonly Name: string;
}

/** @param server returns the server's address and key; the server may be started after this call */
export function brandRequests(server: () => { url: string; key: string }) {
  const send = (method: string, path: string, body?: unknown) => {
    const { url, key } = server();
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    return fetchWithKey(`${url}/restapi/${path}`, key, init);
  };
  const bodyOf = async (response: Response) => (await response.json()) as Brand;
  return {
    send,
    bodyOf,
    create: async (Name: string) => (await bodyOf(await send("POST", "brands.json", { Name }))).ID,
    nameOf: async (id: number) => (await bodyOf(await send("GET", `brands/${id}.json`))).Name,
  };
}
