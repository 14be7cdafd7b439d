// `storefront operator`: manages the people who can use the console.

import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { ProblemError } from "../model/errors.ts";
import { type GivenRole, roleNamed, roles } from "../model/operator-role.ts";
import {
  createOperator,
  LastOperatorError,
  type ListedOperator,
  listOperators,
  removeOperator,
  setOperator,
  toOperatorInfo,
} from "../operator/operators/operators.ts";
import { createSignInLink, signOutEverywhere } from "../operator/operators/sessions.ts";
import { consoleUrl, isListening, signInLink } from "./shared/console-address.ts";
import { withEngine, withNewEngine } from "./shared/database.ts";
import { type CommonOptions, collectValue, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult, toMinute, toTable } from "./shared/output.ts";
import { commandLine } from "./shared/shell-words.ts";
import { UsageError } from "./shared/usage-error.ts";

interface SiteOptions extends CommonOptions {
  readonly site?: string[];
}

interface AddOptions extends SiteOptions {
  readonly role: GivenRole;
}

/** `yes` allows removing or limiting even the last admin of all sites. */
interface ConfirmedOptions extends CommonOptions {
  readonly yes?: true;
}

interface SetOptions extends SiteOptions, ConfirmedOptions {
  readonly allSites?: true;
}

interface LinkOptions extends CommonOptions {
  readonly url?: string;
  readonly breakGlass?: true;
}

const header = ["ID", "NAME", "SITES", "ROLE", "SIGNS IN WITH", "CREATED (UTC)", "SIGNED IN (UTC)"];

const rolesHelp =
  "viewer: view only; editor: edit records, but not keys, webhooks, sites or operators; admin: do everything";

export function operatorCommand(): Command {
  const operator = new Command("operator").description("manage the people who can use the console");
  const commands = [addCommand(), listCommand(), setCommand(), roleCommand(), removeCommand(), linkCommand()];
  for (const command of [...commands, signOutCommand()]) operator.addCommand(command);
  return operator;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("add an operator; they sign in with a link from `operator link`")
    .argument("<name>", "name of the operator, shown in the history as console:<name>")
    .option("--site <name>", "site the operator can manage; repeat for several (default: all)", collectValue)
    .addOption(new Option("--role <role>", rolesHelp).choices(roles).argParser(parseRole).default("admin"))
    .action(async (name: string, options: AddOptions) => {
      const added = await withNewEngine(options, (engine) =>
        createOperator(engine, name, options.site ?? [], Date.now(), options.role),
      );
      printResult(options, toOperatorInfo(added), [String(added.ID)]);
      const link = commandLine(["operator", "link", added.Name], options.database);
      printMessage(`added the operator ${added.Name}; to create a sign-in link: ${link}`);
    });
}

function parseRole(text: string): GivenRole {
  // The console writes them with a capital.
  const role = roleNamed(text.toLowerCase());
  if (role) return role;
  throw new InvalidArgumentError(`Allowed choices are ${roles.join(", ")}.`);
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list the operators")
    .action(async (options: CommonOptions) => {
      const operators = await withEngine(options, listOperators);
      printResult(options, operators.map(toOperatorInfo), toTable(header, operators.map(toRow)));
    });
}

function setCommand(): Command {
  return withCommonOptions(new Command("set"))
    .description("change which sites an operator can manage; takes effect with their next request")
    .argument("<name>", "name of the operator, see `operator list`")
    .option("--site <name>", "let the operator manage only this site; repeat for several", collectValue)
    .option("--all-sites", "let the operator manage all sites")
    .option("--yes", "go ahead even if this is the last admin of all sites")
    .action(async (name: string, options: SetOptions) => {
      const { site: sites = [], allSites, yes: mayBeLast = false } = options;
      if (sites.length > 0 === (allSites === true)) throw new UsageError("use either --site or --all-sites");
      const changed = await changeOperator(name, { sites }, mayBeLast, options);
      printMessage(`the operator ${changed.Name} can now manage ${changed.siteNames?.join(", ") ?? "all sites"}`);
    });
}

function roleCommand(): Command {
  return withCommonOptions(new Command("role"))
    .description("change what an operator can do; takes effect with their next request")
    .argument("<name>", "name of the operator, see `operator list`")
    .addArgument(new Argument("<role>", rolesHelp).choices(roles).argParser(parseRole))
    .option("--yes", "go ahead even if this is the last admin of all sites")
    .action(async (name: string, role: GivenRole, options: ConfirmedOptions) => {
      const changed = await changeOperator(name, { role }, options.yes ?? false, options);
      printMessage(`the operator ${changed.Name} now has the role ${changed.role}`);
    });
}

async function changeOperator(
  name: string,
  settings: Parameters<typeof setOperator>[2],
  mayBeLast: boolean,
  options: CommonOptions,
): Promise<ListedOperator> {
  const changed = await withEngine(options, (engine) =>
    setOperator(engine, name, settings, Date.now(), { mayBeLast }).catch((error) => {
      throw mayBeLast ? error : withAdvice(error, "limit");
    }),
  );
  printResult(options, toOperatorInfo(changed), []);
  return changed;
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("remove an operator and sign them out")
    .argument("<name>", "name of the operator, see `operator list`")
    .option("--yes", "go ahead even if this is the last admin of all sites")
    .action(async (name: string, options: ConfirmedOptions) => {
      const mayBeLast = options.yes ?? false;
      const removed = await withEngine(options, (engine) =>
        removeOperator(engine, name, Date.now(), { mayBeLast }).catch((error) => {
          throw mayBeLast ? error : withAdvice(error, "remove");
        }),
      );
      printResult(options, toOperatorInfo(removed), []);
      printMessage(`removed the operator ${removed.Name}`);
    });
}

/** Adds how to go ahead to a LastOperatorError. Returns other errors unchanged. */
function withAdvice(error: unknown, action: string): unknown {
  if (!(error instanceof LastOperatorError)) return error;
  return new ProblemError("conflict", `${error.message}; add --yes to ${action} them anyway`);
}

function linkCommand(): Command {
  return withCommonOptions(new Command("link"))
    .description("print a link that signs an operator in to the console; it works once, for 10 minutes")
    .argument("<name>", "name of the operator, see `operator list`")
    .option(
      "--url <url>",
      "console URL that the operator's browser can reach (default: STOREFRONT_ADMIN_URL, else STOREFRONT_ADMIN, else http://127.0.0.1:8081)",
    )
    .option(
      "--break-glass",
      "for when single sign-on doesn't work: the link works for any operator, and the server logs a warning when it's used",
    )
    .action(async (name: string, options: LinkOptions) => {
      const url = consoleUrl(options.url);
      const kind = options.breakGlass ? "break-glass" : "link";
      const secret = await withEngine(options, (engine) => createSignInLink(engine, name, Date.now(), kind));
      const link = signInLink(url, secret);
      printResult(options, { link }, [link]);
      printMessage("the link works once and expires in 10 minutes");
      if (options.url === undefined && !(await isListening(url)))
        printMessage(`nothing is listening at ${url}: start the server, or pass the console's URL with --url`);
    });
}

function signOutCommand(): Command {
  return withCommonOptions(new Command("sign-out"))
    .description("sign an operator out of all devices, and cancel their unused links")
    .argument("<name>", "name of the operator, see `operator list`")
    .action(async (name: string, options: CommonOptions) => {
      await withEngine(options, (engine) => signOutEverywhere(engine, name, Date.now()));
      printResult(options, {}, []);
      printMessage(`signed out ${name}`);
    });
}

function toRow({ ID, Name, siteNames, role, Subject, Created, signedIn }: ListedOperator): string[] {
  const sites = siteNames ? siteNames.join(", ") : "all";
  const way = Subject === "" ? "links" : "single sign-on";
  return [String(ID), Name, sites, role, way, toMinute(Created), signedIn ? toMinute(signedIn) : "never"];
}
