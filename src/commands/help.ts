// Adds what commander's help lacks: groups, examples, and suggestions for unknown commands.

import { Command } from "commander";
import { UsageError } from "./shared/usage-error.ts";
import { suggestCommands } from "./suggest-commands.ts";

/** The groups in `storefront --help`. */
const groups: Record<string, readonly string[]> = {
  "Serving:": ["serve", "health"],
  "Sites, keys, webhooks and operators:": ["site", "key", "webhook", "apply", "describe", "operator"],
  "Records:": ["import", "export", "delete", "restore-record", "undo"],
  "History, sites as files, and the whole database:": [
    "journal",
    "backup",
    "restore",
    "export-site",
    "import-site",
    "renew",
    "copy",
    "check",
  ],
  "Help:": ["help"],
};

/** Examples for every command, without the program name. */
const examples: Record<string, readonly string[]> = {
  serve: ["serve --demo", "serve --host 0.0.0.0 --port 443 --tls-cert chain.pem --tls-key key.pem --workers 4"],
  health: ["health --url http://127.0.0.1:8080"],
  site: ["site add garden --hostname garden.example", "site list"],
  "site add": [
    "site add garden --hostname garden.example --hostname www.garden.example",
    "site add --from shops.csv --with-key",
  ],
  "site list": ["site list --json"],
  "site show": ["site show garden"],
  "site set": ["site set garden --add-hostname shop.garden.example", "site set garden --suspend"],
  "site sandbox": ["site sandbox garden"],
  "site remove": ["site remove garden --yes"],
  key: ['key create --site garden --label "warehouse till"', "key list --site garden"],
  "key create": [
    'key create --site garden --label "warehouse till" --scope read --expires 90d',
    "key create --site garden --can brands:write,orderstatuses:read --from 203.0.113.0/24",
    "key create --site garden --sandbox",
  ],
  "key list": ["key list --site garden", "key list --site garden --sandbox"],
  "key set": ["key set sfk_AbCd1234 --rate 50 --expires 30d"],
  "key revoke": ["key revoke sfk_AbCd1234"],
  "key rotate": ["key rotate sfk_AbCd1234 --overlap 24h"],
  webhook: ["webhook add --site garden https://erp.example/hooks/storefront", "webhook list"],
  "webhook add": [
    "webhook add --site garden https://erp.example/hooks/storefront",
    "webhook add --site garden https://erp.example/hooks/storefront --resource brands --since 2026-01-31",
  ],
  "webhook change": ["webhook change 3 https://erp.example/hooks/new"],
  "webhook list": ["webhook list --site garden"],
  "webhook test": ["webhook test 3"],
  "webhook pause": ["webhook pause 3"],
  "webhook resume": ["webhook resume 3"],
  "webhook rotate": ["webhook rotate 3"],
  "webhook rewind": ["webhook rewind 3 --since 24h", "webhook rewind 3 --since 5f0c3a9b21de.1200"],
  "webhook deliveries": ["webhook deliveries 3", "webhook deliveries 3 --attempt 57"],
  "webhook retry": ["webhook retry 3"],
  "webhook remove": ["webhook remove 3"],
  apply: ["apply sites.yaml --dry-run", "apply sites.yaml --keys-to new-keys.jsonl", "apply sites.yaml --check"],
  describe: ["describe", "describe garden toys"],
  operator: ["operator add anna", "operator link anna"],
  "operator add": [
    "operator add anna",
    "operator add ben --site garden --site toys",
    "operator add cleo --role viewer",
  ],
  "operator list": ["operator list"],
  "operator set": ["operator set ben --site garden", "operator set ben --all-sites"],
  "operator role": ["operator role ben editor"],
  "operator remove": ["operator remove ben"],
  "operator link": ["operator link anna", "operator link anna --url https://console.example"],
  "operator sign-out": ["operator sign-out anna"],
  import: [
    "import --site garden brands brands.csv --match Name --dry-run",
    "import --site garden brands suppliers.xlsx --sheet 2 --guess --save-map mapping.json --match Name --dry-run",
    "import --site garden locations shops.csv --map mapping.json --rejects rejected.csv",
  ],
  export: ["export --site garden brands brands.csv", "export --site garden locations --format json"],
  journal: ["journal --site garden --resource brands --id 12", "journal --system --since 24h --follow"],
  "journal prune": ["journal prune --before 90d", "journal prune --before 1200 --site garden"],
  delete: ["delete --site garden locations 7 12"],
  undo: [
    "undo --site garden --since 345 --run k3f9a1Xb",
    "undo --site garden --run k3J9aZ0q-18-3",
    "undo --site garden --since 345 --until 400 --dry-run",
  ],
  "restore-record": ["restore-record --site garden brands 12 --revision 345"],
  backup: ["backup garden-2026-01-31.backup", "backup - | gzip > garden.backup.gz"],
  restore: ["restore garden-2026-01-31.backup"],
  "export-site": ["export-site garden garden.site"],
  "import-site": ["import-site garden.site", "import-site garden.site --name garden-staging --without-keys"],
  renew: ["renew"],
  copy: ["copy --from sqlite:./data/storefront.db --to postgres://storefront@db.example/storefront"],
  help: ["help site add"],
  check: ["check --database sqlite:./data/storefront.db"],
};

/** Call this after adding all commands to `program`. */
export function completeHelp(program: Command): void {
  program.helpCommand(false).addCommand(helpCommand(program));
  // Without arguments, names and descriptions fit into 80 columns.
  for (const group of [program, ...program.commands])
    group.configureHelp({ subcommandTerm: (command) => command.name() });
  for (const [heading, names] of Object.entries(groups))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  for (const command of program.commands) addExamples(command, []);
  suggestInstead(program, []);
}

function helpCommand(program: Command): Command {
  return new Command("help")
    .description("show help for a command")
    .argument("[command...]", "command to explain, such as `site add` (default: list all commands)")
    .action((names: string[]) => {
      let command = program;
      for (const [index, name] of names.entries()) {
        const child = command.commands.find((one) => one.name() === name);
        if (!child) throw unknownCommandError(names.slice(0, index), names.slice(index));
        command = child;
      }
      command.help();
    });
}

function addExamples(command: Command, above: readonly string[]): void {
  const path = [...above, command.name()];
  const lines = examples[path.join(" ")] ?? [];
  const title = lines.length > 1 ? "Examples:" : "Example:";
  if (lines.length > 0)
    command.addHelpText("after", ["", title, ...lines.map((line) => `  storefront ${line}`)].join("\n"));
  for (const child of command.commands) addExamples(child, path);
}

/** Makes `command` and its subcommands answer an unknown subcommand with "did you mean …?" */
function suggestInstead(command: Command, path: readonly string[]): void {
  command.on("command:*", (operands: readonly string[]) => {
    throw unknownCommandError(path, operands);
  });
  for (const child of command.commands) if (child.commands.length > 0) suggestInstead(child, [...path, child.name()]);
}

/**
 * @param path the known words, such as `site`
 * @param operands the words after `path`, starting with the unknown one
 */
function unknownCommandError(path: readonly string[], operands: readonly string[]): UsageError {
  const meant = suggestCommands(Object.keys(examples), [...path, ...operands]).map((one) => `\`${one}\``);
  const hint = meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : "`storefront --help` lists all commands";
  return new UsageError(`unknown command \`${[...path, operands[0]].join(" ").slice(0, 200)}\`: ${hint}`);
}
