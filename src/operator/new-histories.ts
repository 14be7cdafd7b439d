import { randomText } from "../lib/base62.ts";
import type { Engine } from "../model/engine.ts";

/** Gives every site a new history, after the database was restored by other means. Returns the number of sites. */
export async function startNewHistories(engine: Engine): Promise<number> {
  const sites = await engine.renew();
  // A webhook that an older program added to a site without changes takes any history for its own.
  const unknown = (await engine.webhookStates()).filter(({ epoch }) => epoch === "");
  for (const state of unknown) {
    const { cursor, rewinds, resumes } = state;
    await engine.updateWebhook(state, { cursor, rewinds, resumes }, { epoch: randomText(8) });
  }
  return sites;
}
