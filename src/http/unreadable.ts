import { type Code, Refusal } from "../model/errors.ts";
import type { RequestError, RequestErrorReason } from "../wire/request-error.ts";

const codes: Record<RequestErrorReason, Code> = {
  malformed: "bad-request",
  timeout: "request-timeout",
  "header-too-large": "head-too-large",
  "body-too-large": "too-large",
};

/** The refusal of a request that could not be read. */
export function refuseUnreadable({ reason, message }: RequestError): Refusal {
  return new Refusal(codes[reason], message);
}
