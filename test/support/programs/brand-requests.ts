// Requests for brands to a server that was started as a process.

import { fetchWithKey } from "./command.ts";

interface Brand {
  readonly ID: number;
  readonly Name: string;
}

/** @param server returns the address and the key of the server, which may be started after this call */
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
