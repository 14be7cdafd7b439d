// The error of a request that cannot be read.

/**
 * Why a request could not be read. `malformed`: it breaks a rule of HTTP/1.1, or the client disconnected in the middle of it. `timeout`: it did not
 * arrive in time. The others: its header section or its body is larger than the limit.
 */
export type RequestErrorReason = "malformed" | "timeout" | "header-too-large" | "body-too-large";

/** A request that could not be read. The message is for its client. */
export class RequestError extends Error {
  readonly reason: RequestErrorReason;

  constructor(reason: RequestErrorReason, message: string) {
    super(message);
    this.name = "RequestError";
    this.reason = reason;
  }
}
