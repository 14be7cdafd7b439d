// Reads and changes operators.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { callApi } from "../api.ts";

export interface Operator {
  readonly id: number;
  readonly name: string;
  /** Names of the sites that the operator may manage; null for all sites. */
  readonly sites: readonly string[] | null;
  readonly created: string;
}

export function useOperators() {
  return useQuery({
    queryKey: ["operators"],
    queryFn: async () => (await callApi<{ operators: Operator[] }>("GET", "/operators")).operators,
  });
}

/** Returns the functions that change operators. After each, except `link`, the list is read again. */
export function useOperatorActions() {
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    const result = await request;
    await queries.invalidateQueries({ queryKey: ["operators"] });
    return result;
  }
  return {
    add: (name: string, sites: readonly string[] | null) => done(callApi("POST", "/operators", { name, sites })),
    /** Changes the sites of an operator. @param isLast true to limit also the last operator of all sites */
    change: (id: number, sites: readonly string[] | null, isLast: boolean) =>
      done(callApi("PATCH", `/operators/${id}`, { sites, isLast })),
    /** Removes an operator. @param isLast true to remove also the last operator of all sites */
    remove: (id: number, isLast: boolean) => done(callApi("DELETE", `/operators/${id}`, { isLast })),
    /** Creates a sign-in link to this page for the operator. */
    async link(id: number) {
      const { secret } = await callApi<{ secret: string }>("POST", `/operators/${id}/link`, {});
      return `${location.origin}/#sign-in=${secret}`;
    },
    signOut: (id: number) => done(callApi("POST", `/operators/${id}/sign-out`, {})),
  };
}
