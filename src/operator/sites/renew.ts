// Replaces the epochs of a database that was restored by other means than `restore`.

import { randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";

/** Gives every site a new epoch. Returns the number of sites. */
export async function replaceAllEpochs(engine: Engine): Promise<number> {
  const sites = await engine.replaceEpochs();
  // A state with an empty epoch is valid in any epoch. An older program version added such a webhook to a site without changes.
  const unknown = (await engine.readWebhookStates()).filter(({ epoch }) => epoch === "");
  for (const state of unknown) {
    const { cursor, rewinds, resumes } = state;
    await engine.compareAndSetWebhook(state, { cursor, rewinds, resumes }, { epoch: randomText(8) });
  }
  return sites;
}
