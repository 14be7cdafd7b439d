// The machine of a simulation: the timers, the clocks and the random numbers of the runtime, replaced while the simulation runs. So the code of the
// program needs no clock as a parameter. Ticks of the event loop stay real: no work but that of the simulation waits for them.

import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

/** A timer of the simulation, with the methods that the program calls. */
class Timer {
  stop = (): void => {};

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Runs `work` on a simulated machine, and then restores the real one. Only one may run at a time. */
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
