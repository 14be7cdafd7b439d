// An engine that answers when the test says so: what happens in between can then be held against a promise.

import type { Engine } from "../../src/model/engine.ts";

type Name = "heads" | "since" | "load" | "commit";

/** A call of the engine that waits for its answer. */
export interface Question<N extends Name> {
  readonly args: Parameters<Engine[N]>;
  resolve(value: Awaited<ReturnType<Engine[N]>>): void;
  reject(error: unknown): void;
}

export interface EngineByHand {
  readonly engine: Engine;
  /** The next call, which must be of `name`; it is waited for. */
  next<N extends Name>(name: N): Promise<Question<N>>;
  /** The names of the calls that wait, once whatever can go on has gone on. */
  waiting(): Promise<readonly Name[]>;
}

/** @param unchanged the engine's own, for one that can tell by itself whether anything was committed */
export function createEngineByHand(unchanged?: () => boolean): EngineByHand {
  const questions: { name: Name; args: unknown; response: PromiseWithResolvers<unknown> }[] = [];
  const ask =
    (name: Name) =>
    (...args: unknown[]) => {
      const response = Promise.withResolvers<unknown>();
      questions.push({ name, args, response });
      return response.promise;
    };
  const calls = { heads: ask("heads"), since: ask("since"), load: ask("load"), commit: ask("commit") };
  return {
    engine: { ...calls, ...(unchanged ? { unchanged } : {}) } as unknown as Engine,
    async next(name) {
      await settled();
      const question = questions.shift();
      if (question?.name !== name) throw new Error(`asked for ${question?.name ?? "nothing"}, not for ${name}`);
      const { args, response } = question;
      return { args: args as never, resolve: response.resolve, reject: response.reject };
    },
    async waiting() {
      await settled();
      return questions.map(({ name }) => name);
    },
  };
}

/** Lets everything go on that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
