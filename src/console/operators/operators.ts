// Operators, as the API has them.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { callApi } from "../api.ts";

export interface Operator {
  readonly id: number;
  readonly name: string;
  /** Names of the sites; null for all. */
  readonly sites: readonly string[] | null;
  readonly created: string;
}

export function useOperators() {
  return useQuery({
    queryKey: ["operators"],
    queryFn: async () => (await callApi<{ operators: Operator[] }>("GET", "/operators")).operators,
  });
}

/** What can be done with operators. The list is read again after each. */
export function useOperatorActions() {
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    const result = await request;
    await queries.invalidateQueries({ queryKey: ["operators"] });
    return result;
  }
  return {
    add: (name: string, sites: readonly string[] | null) => done(callApi("POST", "/operators", { name, sites })),
    /** @param isLast whether the operator is limited although it is the last one of all sites */
    change: (id: number, sites: readonly string[] | null, isLast: boolean) =>
      done(callApi("PATCH", `/operators/${id}`, { sites, isLast })),
    /** @param isLast whether the operator is removed although it is the last one of all sites */
    remove: (id: number, isLast: boolean) => done(callApi("DELETE", `/operators/${id}`, { isLast })),
    /** Makes a link to this page that signs the operator in. */
    async link(id: number) {
      const { secret } = await callApi<{ secret: string }>("POST", `/operators/${id}/link`, {});
      return `${location.origin}/#sign-in=${secret}`;
    },
    signOut: (id: number) => done(callApi("POST", `/operators/${id}/sign-out`, {})),
  };
}
