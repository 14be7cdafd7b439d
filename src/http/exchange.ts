import type { Format } from "../formats/format.ts";
import type { WireRequest } from "../wire/request.ts";
import type { Route } from "./routes.ts";
import type { RequestTarget } from "./target.ts";

/** A request on its way to its answer. What is not known yet is undefined. */
export interface Exchange {
  readonly request: WireRequest;
  readonly target: RequestTarget;
  /** Of the answer, in `X-Request-Id` and in the log. */
  readonly id: string;
  /** The method that decides: the request's own, or what `X-HTTP-Method-Override` makes of a POST. */
  method: string;
  route?: Route | undefined;
  /** Headers of the answer that depend on neither its status nor its body. */
  headers?: Record<string, string> | undefined;
}

/** The format of the answer: what the suffix says, also where no route does. */
export function formatOf(exchange: Exchange, formats: readonly Format[]): Format {
  const asked = exchange.route?.format ?? formats.find((format) => exchange.target.path.endsWith(`.${format.name}`));
  return asked ?? (formats[0] as Format);
}
