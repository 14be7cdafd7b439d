// Looking up receivers' names, some of which get no response for a long time.

import { expect, test } from "bun:test";
import { NameResolver } from "../../../src/webhooks/name-resolver.ts";
import { ticks } from "../../support/time.ts";

/** A resolver that responds when the test decides. */
function resolver() {
  let now = 0;
  const begun: string[] = [];
  const open = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const resolve = (name: string) => {
    begun.push(name);
    open.set(name, Promise.withResolvers());
    return (open.get(name) as PromiseWithResolvers<readonly string[]>).promise;
  };
  const lookups = new NameResolver(resolve, { monotonicMs: () => now });
  return {
    begun,
    ask: (name: string, signal?: AbortSignal) => lookups.resolveName(name, signal).catch((error) => String(error)),
    /** Responds to all look-ups after `milliseconds`. */
    async respond(name: string, milliseconds = 1) {
      now += milliseconds;
      open.get(name)?.resolve(["203.0.113.1"]);
      await ticks();
    },
    async fail(name: string, milliseconds: number) {
      now += milliseconds;
      open.get(name)?.reject(new Error("EAI_AGAIN"));
      await ticks();
    },
  };
}

/** Looks up these names, each in `milliseconds`. */
async function after(milliseconds: number, names: readonly string[]) {
  const made = resolver();
  for (const name of names) {
    void made.ask(name);
    await made.respond(name, milliseconds);
  }
  made.begun.length = 0;
  return made;
}

test("name look-ups: four at once, others in order", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const { begun, ask, respond } = await after(1, names);
  const asked = names.map((name) => ask(name));
  expect(begun).toEqual(["a", "b", "c", "d"]);
  await respond("b");
  expect(begun).toEqual(["a", "b", "c", "d", "e"]);
  expect(await asked[1]).toEqual(["203.0.113.1"]);
  await respond("a");
  expect(begun.at(-1)).toBe("f");
});

test("name look-ups: shared by attempts that need the name, and so is a failure", async () => {
  const { begun, ask, fail, respond } = resolver();
  const [first, second] = [ask("a"), ask("a")];
  await fail("a", 1);
  expect([await first, await second]).toEqual(["Error: EAI_AGAIN", "Error: EAI_AGAIN"]);
  const third = ask("a");
  await respond("a");
  expect(await third).toEqual(["203.0.113.1"]);
  expect(begun).toEqual(["a", "a"]);
});

test("name look-ups: not started if nobody waits any more", async () => {
  const { begun, ask, respond } = resolver();
  for (const name of ["a", "b"]) void ask(name);
  const [late, other] = [new AbortController(), new AbortController()];
  const asked = [ask("c", late.signal), ask("d", late.signal), ask("d", other.signal)];
  late.abort(new Error("timed out"));
  expect([await asked[0], await asked[1]]).toEqual(["Error: timed out", "Error: timed out"]);
  await respond("a");
  expect(begun).toEqual(["a", "b", "d"]);
  await respond("d");
  expect(await asked[2]).toEqual(["203.0.113.1"]);
});

test("slow names: at most half of the look-ups until they're quick again", async () => {
  const { begun, ask, respond } = await after(10_000, ["a", "b", "c"]);
  for (const name of ["a", "b", "c"]) void ask(name);
  expect(begun).toEqual(["a", "b"]);
  await respond("a");
  expect(begun).toEqual(["a", "b", "c"]);
  void ask("a");
  expect(begun).toEqual(["a", "b", "c", "a"]);
});

test("slow names: new names go first", async () => {
  const { begun, ask, fail } = await after(10_000, ["a", "b", "c"]);
  for (const name of ["a", "b", "c", "d"]) void ask(name);
  await fail("a", 10_000);
  expect(begun).toEqual(["a", "b", "d"]);
});
