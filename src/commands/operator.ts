import { Command } from "commander";
import { environment, toAdminText } from "../config.ts";
import { isLoopback } from "../lib/loopback.ts";
import { Refusal } from "../model/errors.ts";
import {
  addOperator,
  type ListedOperator,
  listOperators,
  makeLink,
  removeOperator,
  signOutEverywhere,
} from "../operator/operators.ts";
import {
  type CommonOptions,
  collected,
  printMessage,
  printResult,
  toConfig,
  toMinute,
  toTable,
  UsageError,
  withCommonOptions,
  withEngine,
  withNewEngine,
} from "./common.ts";

interface AddOptions extends CommonOptions {
  readonly site?: string[];
}

interface RemoveOptions extends CommonOptions {
  readonly yes?: true;
}

interface LinkOptions extends CommonOptions {
  readonly url?: string;
}

const header = ["ID", "NAME", "SITES", "CREATED (UTC)"];

export function operatorCommand(): Command {
  const operator = new Command("operator").description("manage the people who may use the console");
  for (const command of [addCommand(), listCommand(), removeCommand(), linkCommand(), signOutCommand()])
    operator.addCommand(command);
  return operator;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("add an operator, who signs in with a link: see `operator link`")
    .argument("<name>", "name, which the history shows as console:<name>")
    .option(
      "--site <name>",
      "website that the operator may manage; may be given several times (default: all)",
      collected,
    )
    .action(async (name: string, options: AddOptions) => {
      const added = await withNewEngine(options, (engine) => addOperator(engine, name, options.site ?? [], Date.now()));
      printResult(options, toShown(added), [String(added.ID)]);
      printMessage(`added the operator ${added.Name}; to sign in: storefront operator link ${added.Name}`);
    });
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list the operators")
    .action(async (options: CommonOptions) => {
      const operators = await withEngine(options, listOperators);
      printResult(options, operators.map(toShown), toTable(header, operators.map(toRow)));
    });
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("remove an operator and end its sessions")
    .argument("<name>", "name of the operator, see `operator list`")
    .option("--yes", "remove also the last operator of all websites")
    .action(async (name: string, options: RemoveOptions) => {
      const isLast = options.yes ?? false;
      const removed = await withEngine(options, (engine) =>
        removeOperator(engine, name, Date.now(), { isLast }).catch((error) => {
          throw isLast ? error : withAdvice(error);
        }),
      );
      printResult(options, toShown(removed), []);
      printMessage(`removed the operator ${removed.Name}`);
    });
}

function withAdvice(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.code !== "conflict") return error;
  return new Refusal("conflict", `${error.message}; add --yes to remove it all the same`);
}

function linkCommand(): Command {
  return withCommonOptions(new Command("link"))
    .description("print a link that signs an operator in to the console, once and within 10 minutes")
    .argument("<name>", "name of the operator, see `operator list`")
    .option("--url <url>", "address of the console for the operator's browser (default: that of --admin of the server)")
    .action(async (name: string, options: LinkOptions) => {
      const url = consoleUrl(options.url);
      const secret = await withEngine(options, (engine) => makeLink(engine, name, Date.now()));
      const link = signInLink(url, secret);
      printResult(options, { link }, [link]);
      printMessage("the link works once, within 10 minutes");
    });
}

function signOutCommand(): Command {
  return withCommonOptions(new Command("sign-out"))
    .description("end all sessions of an operator, and links that were not used")
    .argument("<name>", "name of the operator, see `operator list`")
    .action(async (name: string, options: CommonOptions) => {
      await withEngine(options, (engine) => signOutEverywhere(engine, name));
      printResult(options, {}, []);
      printMessage(`signed out ${name}`);
    });
}

/** A link to the console. The secret is in the fragment, which browsers do not send: a proxy or a log cannot have it. */
export function signInLink(url: string, secret: string): string {
  return `${url}/#sign-in=${secret}`;
}

/** The address of the console, as `--url` or the settings of the server give it. @throws UsageError */
function consoleUrl(given: string | undefined): string {
  if (given !== undefined) {
    const url = URL.parse(given);
    if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search && !url.hash && !url.username)
      return url.origin;
    throw new UsageError(`invalid --url \`${given}\`: it is an address such as https://console.example`);
  }
  const { admin, tls } = toConfig(environment());
  if (!admin) throw new UsageError("STOREFRONT_ADMIN is none, so there is no console; name its address with --url");
  const reachable = toAdminText(admin)
    .replace(/^0\.0\.0\.0:/, "127.0.0.1:")
    .replace(/^\[::\]:/, "[::1]:");
  return `${tls && !isLoopback(admin.host) ? "https" : "http"}://${reachable}`;
}

function toShown({ siteNames, Sites: _, ...operator }: ListedOperator) {
  return { ...operator, Sites: siteNames ?? null };
}

function toRow({ ID, Name, siteNames, Created }: ListedOperator): string[] {
  return [String(ID), Name, siteNames ? siteNames.join(", ") : "all", toMinute(Created)];
}
