// `storefront webhook`

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
  const webhook = new Command("webhook").description("manage webhooks, which send a site's changes to a URL");
  const first = [addCommand(), changeCommand(), listCommand(), testCommand(), deliveriesCommand(), retryCommand()];
  const others = [pauseCommand(), resumeCommand(), rewindCommand(), rotateCommand(), removeCommand()];
  for (const command of [...first, ...others]) webhook.addCommand(command);
  return webhook;
}

function addCommand(): Command {
  return withAllowOption(withSiteOption(new Command("add")))
    .description("add a webhook and print its secret; it can't be shown again")
    .argument("<url>", "URL to send changes to: https, or http on this machine")
    .option(
      "--resource <name>",
      "send only changes to these records, such as brands; repeat for several",
      collectResource,
    )
    .option(
      "--since <point>",
      "start after this cursor, or at this time or age, such as 12h (default: the next change)",
    )
    .action(async (url: string, options: AddOptions) => {
      const since = options.since === undefined ? "now" : parseDeliveryStart("--since", options.since);
      const settings = { url, resources: options.resource ?? [], since };
      const policy = policyOf(options);
      const { webhook, secret, isResolved } = await withSite(options, (engine, site) =>
        createWebhook(engine, site, settings, policy, Date.now()),
      );
      if (!isResolved) printMessage(`the hostname in ${webhook.URL} doesn't resolve at the moment; check it`);
      printMessage(`added webhook ${webhook.ID}; save its secret now, because it can't be shown again`);
      printResult(options, { ...toWebhookInfo(webhook), secret }, [secret]);
    });
}

function changeCommand(): Command {
  return withAllowOption(withWebhook("change", "send changes to another URL, with the same secret and cursor"))
    .argument("<url>", "URL to send changes to: https, or http on this machine")
    .action(async (id: number, url: string, options: AllowOptions) => {
      const policy = policyOf(options);
      const { webhook, isResolved } = await withEngine(options, (engine) =>
        changeWebhookUrl(engine, id, url, policy, Date.now()),
      );
      if (!isResolved) printMessage(`the hostname in ${webhook.URL} doesn't resolve at the moment; check it`);
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`webhook ${id} now delivers to ${webhook.URL}`);
    });
}

function retryCommand(): Command {
  return withWebhook("retry", "deliver to a failing receiver now, without waiting for the next attempt").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => retryWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(
        webhook.status === "failing"
          ? `a server will deliver webhook ${id} within a few seconds; see \`webhook deliveries ${id}\``
          : `webhook ${id} isn't failing, so there's nothing to retry`,
      );
    },
  );
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list a site's webhooks or all webhooks, without their secrets")
    .option("--site <name>", "name of the site, see `site list` (default: all)")
    .action(async (options: CommonOptions & { site?: string }) => {
      const webhooks = await withEngine(options, async (engine) =>
        listWebhooks(engine, options.site === undefined ? undefined : await getSite(engine, options.site)),
      );
      const header = ["ID", "SITE", "URL", "RESOURCES", "MADE BY", "CREATED (UTC)", "BEHIND", "STATUS"];
      printResult(options, webhooks.map(toWebhookInfo), toTable(header, webhooks.map(toWebhookRow)));
    });
}

function testCommand(): Command {
  return withAllowOption(
    withWebhook("test", "send `storefront.test` once and show the response; exit with 1 if it fails"),
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
  return withWebhook("pause", "stop delivering until `webhook resume`; no changes are lost").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => pauseWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`paused webhook ${id}`);
    },
  );
}

function resumeCommand(): Command {
  return withAllowOption(
    withWebhook(
      "resume",
      "deliver again, starting at the webhook's cursor; needed after a restore or copy from another database",
    ),
  ).action(async (id: number, options: AllowOptions) => {
    const policy = policyOf(options);
    const webhook = await withEngine(options, (engine) => resumeWebhook(engine, id, policy, Date.now()));
    printResult(options, toWebhookInfo(webhook), []);
    printMessage(`resumed webhook ${id}`);
  });
}

function rotateCommand(): Command {
  return withWebhook(
    "rotate",
    "create a new secret and print it; deliveries are also signed with the old one for 24 hours",
  )
    .addHelpText("after", "\nRotate twice to stop using the old secret immediately.")
    .action(async (id: number, options: CommonOptions) => {
      const { webhook, secret, until } = await withEngine(options, (engine) => rotateWebhook(engine, id, Date.now()));
      const end = new Date(until).toISOString();
      printMessage(
        `webhook ${id} has a new secret; save it now. Deliveries are also signed with the old one until ${toMinute(end)} UTC`,
      );
      printResult(options, { ...toWebhookInfo(webhook), secret, until: end }, [secret]);
    });
}

function rewindCommand(): Command {
  return withWebhook("rewind", "choose where delivery continues: send earlier changes again, or skip to now")
    .requiredOption("--since <point>", "cursor, time such as 2026-01-31T12:00Z, age such as 12h, or `now`")
    .action(async (id: number, options: CommonOptions & { since: string }) => {
      const point = parseDeliveryStart("--since", options.since);
      const webhook = await withEngine(options, (engine) => rewindWebhook(engine, id, point));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(
        `webhook ${id} will continue after ${webhook.state?.cursor}, ${describeBacklog(webhook)} changes behind`,
      );
    });
}

function deliveriesCommand(): Command {
  return withWebhook("deliveries", "list the last 100 delivery attempts, latest first")
    .option("--attempt <number>", "show the request and response of this attempt; the last 20 are available", parseId)
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
  return withWebhook("remove", "remove a webhook and its secrets").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => removeWebhook(engine, id, Date.now()));
      printResult(options, toWebhookInfo(webhook), []);
      printMessage(`removed webhook ${id}`);
    },
  );
}

/** A command that takes a webhook's ID. */
function withWebhook(name: string, description: string): Command {
  return withCommonOptions(new Command(name))
    .description(description)
    .argument("<id>", "ID of the webhook, see `webhook list`", parseId);
}

export function withAllowOption(command: Command): Command {
  return command.option(
    "--webhook-allow <networks>",
    "comma-separated networks that webhooks can reach besides public ones, such as 10.0.0.0/8",
  );
}

export function policyOf({ webhookAllow }: { readonly webhookAllow?: string }): AddressPolicy {
  const given = webhookAllow === undefined ? {} : { WEBHOOK_ALLOW: webhookAllow };
  return toDeliveryPolicy(toConfig(given).webhookAllow);
}

function collectResource(value: string, before: readonly Resource[] = []): readonly Resource[] {
  return [...before, getResource(value)];
}

function toWebhookRow(webhook: ListedWebhook): string[] {
  const { ID, siteName, URL: url, Resources, Key, Created, Paused, PausedBy, status, detail } = webhook;
  // The reason already names a key or what went wrong, but not the operator.
  const by = PausedBy.includes(":") ? `${PausedBy}, ` : "";
  const since = status !== "paused" || Paused === "" ? "" : ` (${by}${toMinute(Paused)} UTC)`;
  const shown = detail === "" ? status : `${status}: ${detail}${since}`;
  return [
    `${ID}`,
    siteName,
    url,
    Resources || "all",
    Key || "operator",
    toMinute(Created),
    describeBacklog(webhook),
    shown,
  ];
}

function describeBacklog({ backlog }: ListedWebhook): string {
  if (!backlog) return "unknown";
  return backlog.isMinimum ? `at least ${backlog.changes}` : `${backlog.changes}`;
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
    response ? "Response:" : "No response.",
    ...(response ? toMessageLines(response) : []),
  ];
}

/** The headers and the body, as far as we keep them. */
function toMessageLines({ headers, body, isText, bytes }: ExchangedMessage): string[] {
  const isCut = Buffer.byteLength(body) < bytes;
  const size = `(${bytes} bytes${isCut ? ", truncated" : ""}${isText ? "" : ", binary, shown as hex"})`;
  return [...headers.map(([name, value]) => `${name}: ${value}`), "", ...body.split("\n"), size];
}
