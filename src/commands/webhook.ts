// The command `webhook`.

import { Command } from "commander";
import type { Resource } from "../model/resource.ts";
import type { DeliveryAttempt } from "../model/webhooks.ts";
import { getSite } from "../operator/sites/sites.ts";
import { createWebhook } from "../operator/webhooks/webhook-creation.ts";
import {
  getWebhook,
  type ListedWebhook,
  listDeliveryAttempts,
  listWebhooks,
} from "../operator/webhooks/webhook-list.ts";
import {
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  rewindWebhook,
  rotateWebhook,
  testWebhook,
} from "../operator/webhooks/webhooks.ts";
import { type AddressPolicy, toDeliveryPolicy } from "../webhooks/address-policy.ts";
import { toConfig, withEngine } from "./shared/database.ts";
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
  const first = [addCommand(), listCommand(), testCommand(), deliveriesCommand(), pauseCommand(), resumeCommand()];
  for (const command of [...first, rewindCommand(), rotateCommand(), removeCommand()]) webhook.addCommand(command);
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
      const { webhook, secret, isResolved } = await withEngine(options, async (engine) =>
        createWebhook(engine, await getSite(engine, options.site), settings, policy, Date.now()),
      );
      if (!isResolved) printMessage(`the name in ${webhook.URL} has no address at the moment`);
      printMessage(`added webhook ${webhook.ID}; save its secret now: it cannot be shown again`);
      printResult(options, { ...toWebhookJson(webhook), secret }, [secret]);
    });
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
      printResult(options, webhooks.map(toWebhookJson), toTable(header, webhooks.map(toWebhookRow)));
    });
}

function testCommand(): Command {
  return withAllowOption(
    withWebhook("test", "send `storefront.test` once, and show the response; exit 1 if it fails"),
  ).action(async (id: number, options: AllowOptions) => {
    const { allow } = policyOf(options);
    const { webhook, attempt } = await withEngine(options, (engine) => testWebhook(engine, id, allow));
    const { status, milliseconds, fault } = attempt;
    printResult(options, toAttemptJson(attempt), []);
    printMessage(fault ? `${webhook.URL}: ${fault}` : `${webhook.URL} responded with ${status} in ${milliseconds} ms`);
    if (fault) process.exitCode = 1;
  });
}

function pauseCommand(): Command {
  return withWebhook("pause", "deliver nothing until `webhook resume`; no change is lost").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => pauseWebhook(engine, id, Date.now()));
      printResult(options, toWebhookJson(webhook), []);
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
    printResult(options, toWebhookJson(webhook), []);
    printMessage(`resumed webhook ${id}`);
  });
}

function rotateCommand(): Command {
  return withWebhook("rotate", "print a new secret; for 24 hours, deliveries are signed with the old one too")
    .addHelpText("after", "\nRotate twice to end the old secret at once.")
    .action(async (id: number, options: CommonOptions) => {
      const { secret, until } = await withEngine(options, (engine) => rotateWebhook(engine, id, Date.now()));
      const end = new Date(until).toISOString();
      printMessage(`webhook ${id} has a new secret; save it now. The old one is used too until ${toMinute(end)} UTC`);
      printResult(options, { ID: id, secret, until: end }, [secret]);
    });
}

function rewindCommand(): Command {
  return withWebhook("rewind", "set where delivery continues: repeat earlier changes, or skip to now")
    .requiredOption("--since <point>", "a cursor, a time such as 2026-01-31T12:00Z, an age such as 12h, or now")
    .action(async (id: number, options: CommonOptions & { since: string }) => {
      const point = parseDeliveryStart("--since", options.since);
      const webhook = await withEngine(options, (engine) => rewindWebhook(engine, id, point));
      printResult(options, toWebhookJson(webhook), []);
      printMessage(`webhook ${id} continues after ${webhook.state?.cursor}, ${webhook.lag} changes behind`);
    });
}

function deliveriesCommand(): Command {
  return withWebhook("deliveries", "list the last 100 attempts, the latest first").action(
    async (id: number, options: CommonOptions) => {
      const attempts = await withEngine(options, async (engine) =>
        listDeliveryAttempts(engine, await getWebhook(engine, id)),
      );
      printResult(options, attempts.map(toAttemptJson), toAttemptTable(attempts));
    },
  );
}

function removeCommand(): Command {
  return withWebhook("remove", "remove a webhook with its secrets").action(
    async (id: number, options: CommonOptions) => {
      const webhook = await withEngine(options, (engine) => removeWebhook(engine, id, Date.now()));
      printResult(options, webhook, []);
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

/** Converts a webhook to the form that `--json` prints. */
function toWebhookJson({ state, siteName, status, detail, lag, ...record }: ListedWebhook) {
  const { cursor = "", failures = 0, failingSince = null, nextAt = 0, rewinds = 0 } = state ?? {};
  return {
    ...record,
    SiteName: siteName,
    Status: status,
    Detail: detail,
    Cursor: cursor,
    Behind: lag ?? null,
    Rewinds: rewinds,
    Failures: failures,
    FailingSince: failingSince === null ? "" : new Date(failingSince).toISOString(),
    NextAttempt: nextAt === 0 ? "" : new Date(nextAt).toISOString(),
  };
}

function toWebhookRow(webhook: ListedWebhook): string[] {
  const { ID, siteName, URL: url, Resources, Created, lag, status, detail } = webhook;
  const shown = detail === "" ? status : `${status}: ${detail}`;
  return [`${ID}`, siteName, url, Resources || "all", toMinute(Created), `${lag ?? "unknown"}`, shown];
}

/** Converts an attempt to the form that `--json` prints. */
function toAttemptJson({ at, ...attempt }: DeliveryAttempt) {
  return { at: new Date(at).toISOString(), ...attempt };
}

function toAttemptTable(attempts: readonly DeliveryAttempt[]): string[] {
  const rows = attempts
    .map(toAttemptJson)
    .map(({ at, status, milliseconds, fault }) => [at, `${status ?? "none"}`, `${milliseconds}`, fault ?? ""]);
  return toTable(["AT (UTC)", "STATUS", "MILLISECONDS", "FAULT"], rows);
}
