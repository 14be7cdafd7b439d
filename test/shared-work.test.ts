import { expect, test } from "bun:test";
import { sharedByName } from "../src/lib/shared-work.ts";

test("work of a name is done once for all that want it meanwhile, and anew for those after it, also when it fails", async () => {
  const begun: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const endings = [promise, Promise.resolve("b"), Promise.resolve("anew")];
  const work = sharedByName((name: string) => {
    begun.push(name);
    return endings[begun.length - 1] as Promise<string>;
  });
  const [first, second] = [work("a"), work("a")];
  expect(await work("b")).toBe("b");
  expect(begun).toEqual(["a", "b"]);
  reject(new Error("no address"));
  resolve("too late");
  for (const one of [first, second]) expect(await one.catch((error) => error.message)).toBe("no address");
  expect(await work("a")).toBe("anew");
  expect(begun).toEqual(["a", "b", "a"]);
});
