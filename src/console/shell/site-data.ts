// Reads and changes server data from components. Reads are cached by request path, so that a change can reload everything below a path.

import { type UseQueryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { callApi, sitePath } from "../api/call-api.ts";
import { useSiteName } from "./site-context.ts";

/** Returns a path within the current site, such as `/sites/garden/keys`. @param rest starts with `/` */
export function useSitePath(rest: string): string {
  return sitePath(useSiteName(), rest);
}

type ReadOptions<T, Data> = Omit<UseQueryOptions<T, Error, Data>, "queryKey" | "queryFn">;

export function readOf<T>(path: string) {
  return { queryKey: keyOf(path), queryFn: () => callApi<T>("GET", path) };
}

/** Reads a path. `Data` is what the option `select` turns the response into. */
export function useRead<T, Data = T>(path: string, options: ReadOptions<T, Data> = {}) {
  return useQuery({ ...readOf<T>(path), ...options });
}

/**
 * Returns a function that sends a change to `path` or below it. Afterwards, even if it failed, everything below `path` is reloaded. The change doesn't
 * wait for that, so that a dialog closes as soon as it's stored.
 */
export function useSend(path: string) {
  const queries = useQueryClient();
  return <T = unknown>(method: "POST" | "PATCH" | "DELETE", rest = "", body?: object): Promise<T> =>
    callApi<T>(method, path + rest, body).finally(() => void queries.invalidateQueries({ queryKey: keyOf(path) }));
}

function keyOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

/**
 * Returns the value once it has stayed the same for `milliseconds`, and the previous one until then. Use it to delay requests while someone types.
 */
export function useDebounced<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/**
 * Returns a function that runs an action, whether the action is running, and its error message if it failed. Calls while it's running are ignored,
 * because the second click of a double click comes before the button re-renders.
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
