// The command `webhook`.

import { Command } from "commander";
import type { Resource } from "../model/resource.ts";
import type { DeliveryExchange, ExchangedMessage, KeptAttempt } from "../model/webhooks.ts";
import { getSite } from "../operator/sites/sites.ts";
import { createWebhook } from "../operator/webhooks/webhook-creation.ts";
import {
  getDeliveryExchange,
  getWebhook,
  type ListedWebhook,
  listDeliveryAttempts,
  listWebhooks,
  toAttemptInfo,
  toWebhookInfo,
} from "../operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  retryWebhook,
  rewindWebhook,
  rotateWebhook,
  testWebhook,
} from "../operator/webhooks/webhooks.ts";
import { type AddressPolicy, toDeliveryPolicy } from "../webhooks/address-policy.ts";
import { toConfig, withEngine, withSite } from "./shared/database.ts";
import {
  type CommonOptions,
  getResource,
  parseId,
  type SiteOptions,
  withCommonOptions,
  withSiteOption,
} from "./shared/options.ts";
import { printMessage, printResult, toMinute, toTable } from "./shared/output.ts";
import { parseDeliveryStart } from "./shared/points.ts";

interface AllowOptions extends CommonOptions {
  readonly webhookAllow?: string;
}

interface AddOptions extends SiteOptions, AllowOptions {
  readonly resource?: readonly Resource[];
  readonly since?: string;
}

export function webhookCommand(): Command {
  const webhook = new Command("webhook").description("manage webhooks: URLs to which the changes of a site are sent");
  const first = [addCommand(), changeCommand(), listCommand(), testCommand(), deliveriesCommand(), retryCommand()];
  const others = [pauseCommand(), resumeCommand(), rewindCommand(), rotateCommand(), removeCommand()];
  for (const command of [...first, ...others]) webhook.addCommand(command);
  return webhook;
}

function addCommand(): Command {
  return withAllowOption(withSiteOption(new Command("add")))
    .description("add a webhook, and print its secret; it cannot be shown again")
    .argument("<url>", "URL of the receiver: https, or http on this machine")
    .option(
      "--resource <name>",
      "only changes of these records, such as brands; may be given several times",
      collectResource,
    )
    .option("--since <point>", "begin after this cursor, or at this time or age such as 12h (default: the next change)")
    .action(async (url: string, options: AddOptions) => {
      const since = options.since === undefined ? "now" : parseDeliveryStart("--since", options.since);
      const settings = { url, resources: options.resource ?? [], since };
      const policy = policyOf(options);
      const { webhook, secret, isResolved } = await withSite(options, (engine, site) =>
        createWebhook(engine, site, settings, policy, Date.now()),
      );
      if (!isResolved) printMessage(`the name in ${webhook.URL} has no address at the moment`);
      printMessage(`added webhook ${webhook.ID}; save its secret now: it cannot be shown again`);
      printResult(options, { ...toWebhookInfo(webhook), secret }, [secret]);
    });
}

function changeCommand(): Command {
  return withAllowOption(
    withWebhook("change", "send the changes to another URL; the webhook keeps its secret and cursor"),
  )
    .argument("<url>", "URL of the receiver: https, or http on this machine")
    .action(async (id: number, url: string, options: AllowOptions) => {
      const policy = policyOf(options);
      const { webhook, isResolved } = await withEngine(options, (engine) =>
        changeWebhookUrl(engine, id, url, policy, Date.now()),
      );
      if (!isResolved) printMessage(`the name in ${webhook.URL} has no address at the moment`);
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`webhook ${id} delivers to ${webhook.URL}`);
    });
}

function retryCommand(): Command {
  return withWebhook("retry", "deliver to a failing receiver now, and not only at the time of the next attempt").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => retryWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      const isDue = `a server delivers webhook ${id} within a few seconds: see \`webhook deliveries ${id}\``;
      printMessage(webhook.status === "failing" ? isDue : `webhook ${id} has not failed: it need not wait`);
    },
  );
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list the webhooks of one site or of all; their secrets are not shown")
    .option("--site <name>", "name of the site, see `site list` (default: all)")
    .action(async (options: CommonOptions & { site?: string }) => {
      const webhooks = await withEngine(options, async (engine) =>
        listWebhooks(engine, options.site === undefined ? undefined : await getSite(engine, options.site)),
      );
      const header = ["ID", "SITE", "URL", "RESOURCES", "CREATED (UTC)", "BEHIND", "STATUS"];
      printResult(options, webhooks.map(toWebhookInfo), toTable(header, webhooks.map(toWebhookRow)));
    });
}

function testCommand(): Command {
  return withAllowOption(
    withWebhook("test", "send `storefront.test` once, and show the response; exit 1 if it fails"),
  ).action(async (id: number, options: AllowOptions) => {
    const { allow } = policyOf(options);
    const { webhook, attempt } = await withEngine(options, (engine) => testWebhook(engine, id, allow));
    const { status, milliseconds, fault } = attempt;
    printResult(options, toAttemptInfo(attempt), []);
    printMessage(fault ? `${webhook.URL}: ${fault}` : `${webhook.URL} responded with ${status} in ${milliseconds} ms`);
    if (fault) process.exitCode = 1;
  });
}

function pauseCommand(): Command {
  return withWebhook("pause", "deliver nothing until `webhook resume`; no change is lost").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => pauseWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`paused webhook ${id}`);
    },
  );
}

function resumeCommand(): Command {
  return withAllowOption(
    withWebhook("resume", "deliver again, from its cursor on; also after a restore or copy from another database"),
  ).action(async (id: number, options: AllowOptions) => {
    const policy = policyOf(options);
    const webhook = await withEngine(options, (engine) => resumeWebhook(engine, id, policy, Date.now()));
    printResult(options, toWebhookInfo(webhook), []);
    printMessage(`resumed webhook ${id}`);
  });
}

function rotateCommand(): Command {
  return withWebhook("rotate", "print a new secret; for 24 hours, deliveries are signed with the old one too")
    .addHelpText("after", "\nRotate twice to end the old secret at once.")
    .action(async (id: number, options: CommonOptions) => {
      const { webhook, secret, until } = await withEngine(options, (engine) => rotateWebhook(engine, id, Date.now()));
      const end = new Date(until).toISOString();
      printMessage(`webhook ${id} has a new secret; save it now. The old one is used too until ${toMinute(end)} UTC`);
      printResult(options, { ...toWebhookInfo(webhook), secret, until: end }, [secret]);
    });
}

function rewindCommand(): Command {
  return withWebhook("rewind", "set where delivery continues: repeat earlier changes, or skip to now")
    .requiredOption("--since <point>", "a cursor, a time such as 2026-01-31T12:00Z, an age such as 12h, or now")
    .action(async (id: number, options: CommonOptions & { since: string }) => {
      const point = parseDeliveryStart("--since", options.since);
      const webhook = await withEngine(options, (engine) => rewindWebhook(engine, id, point));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`webhook ${id} continues after ${webhook.state?.cursor}, ${webhook.lag} changes behind`);
    });
}

function deliveriesCommand(): Command {
  return withWebhook("deliveries", "list the last 100 attempts, the latest first")
    .option("--attempt <number>", "show the request and the response of one of the last 20 attempts", parseId)
    .action(async (id: number, options: CommonOptions & { attempt?: number }) => {
      const { attempt } = options;
      await withEngine(options, async (engine) => {
        const webhook = await getWebhook(engine, id);
        if (attempt !== undefined) {
          const exchange = await getDeliveryExchange(engine, webhook, attempt);
          return printResult(options, exchange, toExchangeLines(exchange));
        }
        const attempts = await listDeliveryAttempts(engine, webhook);
        printResult(options, attempts.map(toAttemptInfo), toAttemptTable(attempts));
      });
    });
}

function removeCommand(): Command {
  return withWebhook("remove", "remove a webhook with its secrets").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => removeWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`removed webhook ${id}`);
    },
  );
}

/** Creates a command on one webhook, with the argument `<id>`. */
function withWebhook(name: string, description: string): Command {
  return withCommonOptions(new Command(name))
    .description(description)
    .argument("<id>", "ID of the webhook, see `webhook list`", parseId);
}

function withAllowOption(command: Command): Command {
  return command.option(
    "--webhook-allow <networks>",
    "networks that webhooks may reach besides public ones, such as 10.0.0.0/8, separated by commas",
  );
}

function policyOf({ webhookAllow }: AllowOptions): AddressPolicy {
  const given = webhookAllow === undefined ? {} : { WEBHOOK_ALLOW: webhookAllow };
  return toDeliveryPolicy(toConfig(given).webhookAllow);
}

function collectResource(value: string, before: readonly Resource[] = []): readonly Resource[] {
  return [...before, getResource(value)];
}

// Webhooks and attempts in the output.

function toWebhookRow(webhook: ListedWebhook): string[] {
  const { ID, siteName, URL: url, Resources, Created, lag, status, detail } = webhook;
  const shown = detail === "" ? status : `${status}: ${detail}`;
  return [`${ID}`, siteName, url, Resources || "all", toMinute(Created), `${lag ?? "unknown"}`, shown];
}

function toAttemptTable(attempts: readonly KeptAttempt[]): string[] {
  const rows = attempts.map(({ number, at, status, milliseconds, fault }) => [
    `${number}`,
    new Date(at).toISOString(),
    `${status ?? "none"}`,
    `${milliseconds}`,
    fault ?? "",
  ]);
  return toTable(["ATTEMPT", "AT (UTC)", "STATUS", "MILLISECONDS", "FAULT"], rows);
}

function toExchangeLines({ url, request, response }: DeliveryExchange): string[] {
  return [
    `POST ${url}`,
    ...toMessageLines(request),
    "",
    response ? "The response:" : "There was no response.",
    ...(response ? toMessageLines(response) : []),
  ];
}

/** Returns the lines of a message: its header fields and its body, as far as they are kept. */
function toMessageLines({ headers, body, isText, bytes }: ExchangedMessage): string[] {
  const isCut = Buffer.byteLength(body) < bytes;
  const size = `(${bytes} bytes${isCut ? ", cut" : ""}${isText ? "" : "; they are not text, shown as hexadecimal digits"})`;
  return [...headers.map(([name, value]) => `${name}: ${value}`), "", ...body.split("\n"), size];
}
