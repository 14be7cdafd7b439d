// Reads and changes data of the server in components. A read is known by the path of its request, so a change below a path reads all of that again.

import { type UseQueryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { callApi, sitePath } from "../api/call-api.ts";
import { useSiteName } from "./site-context.ts";

/** Returns the path of something of the shown site: `/sites/garden/keys`. @param rest begins with `/` */
export function useSitePath(rest: string): string {
  return sitePath(useSiteName(), rest);
}

type ReadOptions<T, Data> = Omit<UseQueryOptions<T, Error, Data>, "queryKey" | "queryFn">;

export function readOf<T>(path: string) {
  return { queryKey: keyOf(path), queryFn: () => callApi<T>("GET", path) };
}

/** Reads a path. `Data` is what the option `select` makes of the response. */
export function useRead<T, Data = T>(path: string, options: ReadOptions<T, Data> = {}) {
  return useQuery({ ...readOf<T>(path), ...options });
}

/**
 * Returns a function that sends a change to `path`, or to a path below it. After it, also if it fails, the page reads `path` and all below it again.
 * The function waits for that only after a success: if the server cannot be reached, the operator sees the error at once.
 */
export function useSend(path: string) {
  const queries = useQueryClient();
  return async <T = unknown>(method: "POST" | "PATCH" | "DELETE", rest = "", body?: object): Promise<T> => {
    const readAgain = () => queries.invalidateQueries({ queryKey: keyOf(path) });
    try {
      const result = await callApi<T>(method, path + rest, body);
      await readAgain();
      return result;
    } catch (error) {
      void readAgain();
      throw error;
    }
  };
}

function keyOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

/** Returns the value after it has stayed the same for `milliseconds`; until then the previous value. It is for a request that waits while a person types. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/**
 * Returns a function that runs an action, whether it runs, and the message of its error if it failed. Calls while it runs are ignored: the second click
 * of a double click comes before the button is drawn again.
 */
export function useAttempt() {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const isRunning = useRef(false);
  async function attempt(act: () => Promise<unknown>): Promise<void> {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFault("");
    try {
      await act();
    } catch (error) {
      setFault((error as Error).message);
    }
    isRunning.current = false;
    setBusy(false);
  }
  return { isBusy, fault, attempt, clearFault: () => setFault("") };
}

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
