// Reads and changes operators.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  LinkResponse,
  NewOperatorBody,
  OperatorBody,
  OperatorInfo,
  OperatorRemovalBody,
  OperatorsResponse,
} from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";

export function useOperators() {
  return useQuery({
    queryKey: ["operators"],
    queryFn: async () => (await callApi<OperatorsResponse>("GET", "/operators")).operators,
  });
}

/** Whether nobody else than `operator` may do everything in all sites. */
export function isLastWithAllRights(operator: OperatorInfo, operators: readonly OperatorInfo[]): boolean {
  const hasAllRights = ({ sites, role }: OperatorInfo) => sites === null && role === "all";
  return hasAllRights(operator) && operators.every((one) => one.id === operator.id || !hasAllRights(one));
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
    add: (operator: NewOperatorBody) => done(callApi("POST", "/operators", operator)),
    /** Changes the sites or the role of an operator. */
    change: (id: number, change: OperatorBody) => done(callApi("PATCH", `/operators/${id}`, change)),
    /** Removes an operator. */
    remove: (id: number, confirmation: OperatorRemovalBody) =>
      done(callApi("DELETE", `/operators/${id}`, confirmation)),
    /** Creates a sign-in link to this page for the operator. */
    async link(id: number) {
      const { secret } = await callApi<LinkResponse>("POST", `/operators/${id}/link`, {});
      return `${location.origin}/#sign-in=${secret}`;
    },
    signOut: (id: number) => done(callApi("POST", `/operators/${id}/sign-out`, {})),
  };
}
