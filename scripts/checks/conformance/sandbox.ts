// Tells whether a key opens a sandbox, so that a run doesn't change a live site by mistake.

import { send } from "./requests.ts";

/** Sends a read and looks for `X-Sandbox`, because the key's form alone isn't enough. @throws if the server rejects the key */
export async function isSandbox(url: string, key: string): Promise<boolean> {
  const headers = { "X-API-AUTH": key };
  const path = "/restapi/orderstatuses.json?limit=1";
  const rest = { isFresh: true, secrets: new Map([[key, "KEY"]]), signal: AbortSignal.timeout(10_000) };
  const answer = await send({ method: "GET", url: url + path, headers, ...rest });
  if (answer.status !== 200) throw new Error(`the server answered ${answer.status} to: ${answer.command}`);
  return answer.headers.has("X-Sandbox");
}
