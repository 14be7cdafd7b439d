import { checkId, checkMembers } from "./list-query.ts";
import type { Delivery, NewWebhook, Webhook } from "./record-types.ts";
import type { CallOptions, ClientRequest, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";

/** A webhook with its new secret, for `verifyWebhook`. It isn't shown again. */
export interface WebhookWithSecret extends Webhook {
  readonly Secret: `whsec_${string}`;
}

/** How long the server waits for a receiver to respond to a test, in milliseconds. */
const testMs = 15_000;

/**
 * The webhooks of the key's site, including those of operators and other keys. All calls need the right `webhooks:write`, and changing a webhook also
 * needs the right to read everything that it sends.
 */
export class WebhookCollection {
  readonly #send: Send;
  readonly #sendOnce: Send;

  /** @param sendOnce sends without retries */
  constructor(send: Send, sendOnce: Send) {
    this.#send = send;
    this.#sendOnce = sendOnce;
  }

  /** Returns all of the site's webhooks. Their secrets are empty. */
  async list(options: CallOptions = {}): Promise<Webhook[]> {
    return toList(await this.#call(this.#send, "GET", "", options));
  }

  /** Returns one webhook, without its secret. */
  async get(id: number, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#send, "GET", below(id), options));
  }

  /**
   * Creates a webhook, which starts with the next change. Store its `Secret`, which isn't shown again.
   *
   * It isn't retried. If you don't get a response, call it again: if the webhook exists, that throws a StorefrontProblem with its ID, so that you can
   * `rotate` its secret.
   * @example const { ID, Secret } = await client.webhooks.create({ URL: "https://erp.example/hooks", Resources: "brands" });
   */
  async create(values: NewWebhook, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return toItem(await this.#call(this.#sendOnce, "POST", "", options, { body: values }));
  }

  /** Changes the URL. The webhook keeps its secret and its position. */
  async update(id: number, changes: Pick<NewWebhook, "URL">, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#send, "PUT", below(id), options, { body: changes }));
  }

  /** Deletes a webhook, and returns it as it was. */
  async delete(id: number, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#sendOnce, "DELETE", below(id), options));
  }

  /** Pauses a webhook. No changes are lost. */
  async pause(id: number, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#send, "POST", below(id, "pause"), options));
  }

  /** Resumes a webhook where it stopped. Only an operator can resume what an operator has paused. */
  async resume(id: number, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#send, "POST", below(id, "resume"), options));
  }

  /**
   * Returns the webhook with a new `Secret`. For 24 hours, events are also signed with the old one. It isn't retried, because rotating twice makes the
   * old secret invalid immediately.
   */
  async rotate(id: number, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return toItem(await this.#call(this.#sendOnce, "POST", below(id, "rotate"), options));
  }

  /** Sends a `storefront.test` event, even if the webhook is paused, and returns what happened. It isn't retried. */
  async test(id: number, options: CallOptions = {}): Promise<Delivery> {
    return toItem(await this.#call(this.#sendOnce, "POST", below(id, "test"), options, { serverWaitMs: testMs }));
  }

  /** Makes the next attempt of a failing webhook due now. */
  async retry(id: number, options: CallOptions = {}): Promise<Webhook> {
    return toItem(await this.#call(this.#send, "POST", below(id, "retry"), options));
  }

  /** Returns the last 100 attempts to deliver an event, latest first. */
  async deliveries(id: number, options: CallOptions = {}): Promise<Delivery[]> {
    return toList(await this.#call(this.#send, "GET", below(id, "deliveries"), options));
  }

  async #call(
    send: Send,
    method: ClientRequest["method"],
    path: string,
    options: CallOptions,
    rest: Partial<ClientRequest> = {},
  ): Promise<object | undefined> {
    // There are no dry runs, and a misspelt option shouldn't look as if it worked.
    checkMembers(options, ["signal", "timeout"]);
    return (await send({ ...options, ...rest, method, path: `webhooks${path}.json` }))?.body;
  }
}

function below(id: number, action?: string): string {
  return `/${checkId(id)}${action ? `/${action}` : ""}`;
}

function toItem<Item extends { readonly ID: number }>(body: object | undefined): Item {
  if (body && "ID" in body) return body as Item;
  throw new StorefrontFailure("unreadable", "the response isn't a webhook or delivery");
}

function toList<Item>(body: object | undefined): Item[] {
  if (Array.isArray(body)) return body;
  throw new StorefrontFailure("unreadable", "the response isn't a list");
}
