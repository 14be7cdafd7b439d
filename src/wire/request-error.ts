/**
 * Why a request couldn't be read. `malformed` means that it breaks a rule of HTTP/1.1, or that the client disconnected partway through; `timeout` that it
 * didn't arrive in time; the others that it's over a size limit.
 */
export type RequestErrorReason = "malformed" | "timeout" | "header-too-large" | "body-too-large";

/** A request that couldn't be read. The message is for the client. */
export class RequestError extends Error {
  readonly reason: RequestErrorReason;

  constructor(reason: RequestErrorReason, message: string) {
    super(message);
    this.name = "RequestError";
    this.reason = reason;
  }
}
