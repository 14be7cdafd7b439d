// A simulation's machine replaces the runtime's timers, clocks and random numbers while it runs, so that the program needs no clock as a parameter. Event-loop
// ticks stay real, because only the simulation's work waits for them.

import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

/** A simulated timer, with the methods that the program calls. */
class Timer {
  stop = (): void => {};

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Runs `work` on a simulated machine, then restores the real one. Only one can run at a time. */
export async function onSimulatedMachine<T>(time: SimulatedTime, random: Random, work: () => Promise<T>): Promise<T> {
  const real = { setTimeout, clearTimeout, setInterval, clearInterval };
  const realNow = { date: Date.now, performance: performance.now, random: Math.random, sleep: Bun.sleep };
  const startedAt = time.now;
  const stop = (realStop: (timer: never) => void) => (timer: unknown) =>
    timer instanceof Timer ? timer.stop() : realStop(timer as never);
  const simulated = {
    setTimeout: (callback: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]) => {
      const timer = new Timer();
      timer.stop = time.after(milliseconds, () => callback(...args));
      return timer;
    },
    setInterval: (callback: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]) => {
      const timer = new Timer();
      const repeat = () => {
        timer.stop = time.after(Math.max(1, milliseconds), repeat);
        callback(...args);
      };
      timer.stop = time.after(Math.max(1, milliseconds), repeat);
      return timer;
    },
    clearTimeout: stop(real.clearTimeout),
    clearInterval: stop(real.clearInterval),
  };
  Object.assign(globalThis, simulated);
  Date.now = () => time.now;
  performance.now = () => time.now - startedAt;
  Math.random = random.next;
  Object.assign(Bun, { sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) });
  crypto.getRandomValues = (array) => {
    if (array instanceof Uint8Array) for (let i = 0; i < array.length; i++) array[i] = random.whole(0, 255);
    return array;
  };
  try {
    return await work();
  } finally {
    Object.assign(globalThis, real);
    Date.now = realNow.date;
    performance.now = realNow.performance;
    Math.random = realNow.random;
    Object.assign(Bun, { sleep: realNow.sleep });
    Reflect.deleteProperty(crypto, "getRandomValues");
  }
}
