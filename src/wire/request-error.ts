/**
 * What is wrong with a request: it breaks a rule of HTTP/1.1 or its client went away in the middle of it (`malformed`), it did not arrive
 * in time (`timeout`), or its header section or body is longer than the server reads.
 */
type RequestErrorReason = "malformed" | "timeout" | "header-too-large" | "body-too-large";

/** A request that could not be read. The message is for its client. */
export class RequestError extends Error {
  readonly reason: RequestErrorReason;

  constructor(reason: RequestErrorReason, message: string) {
    super(message);
    this.name = "RequestError";
    this.reason = reason;
  }
}
