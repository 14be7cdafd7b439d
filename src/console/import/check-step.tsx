// The third step of an import shows the result of the dry run. The operator can exclude rows, and starts the import.

import { Alert, Box, Button, Chip, Stack, Typography } from "@mui/material";
import { useId, useState } from "react";
import type {
  CheckBody,
  ImportInfo,
  MissingInfo,
  RepairableValuesInfo,
  RunBody,
} from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { TextInput, Tick } from "../shell/fields.tsx";
import { pluralOf, useDeclared, useSiteName } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { fullLabelOf } from "../text/fields.ts";
import { locale, toNumber } from "../text/locale.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { CheckTable, type Exclusion } from "./check-table.tsx";
import { type EntryKind, importKinds, importPath } from "./imports.ts";
import { type Replacements, useKeptMapping, withReplacements } from "./mappings.ts";
import { ActionBar, ImportProgress, selectStyle } from "./step-parts.tsx";

interface CheckStepProps {
  readonly info: ImportInfo;
  readonly onBack: () => void;
  /** Called once the import or another check has started, to show its step. */
  readonly onStarted: (started: ImportInfo) => void;
}

export function CheckStep({ info, onBack, onStarted }: CheckStepProps) {
  if (info.state === "checking") return <ImportProgress info={info} text="import.checking" />;
  return (
    <CheckResult key={JSON.stringify([info.rows, info.options])} info={info} onBack={onBack} onStarted={onStarted} />
  );
}

/** Rows that change records, which the operator can exclude. */
const changes = ["created", "updated"] as const;

type Excluded = Readonly<Record<(typeof changes)[number], Exclusion>>;

const nothingExcluded: Exclusion = { isAll: false, rows: new Set() };
const noCounts = { created: 0, updated: 0, unchanged: 0, rejected: 0 };

function CheckResult({ info, onBack, onStarted }: CheckStepProps) {
  const counts = info.counts ?? noCounts;
  const counted = { ...counts, missing: info.missing?.count ?? 0, warned: info.warned };
  const kinds = ([...importKinds, "missing", "warned"] as const).filter((one) =>
    one === "missing" ? info.missing : one !== "warned" || info.warned > 0,
  );
  // What needs attention comes first.
  const [kind, setKind] = useState<EntryKind>(
    info.values.length > 0
      ? "rejected"
      : info.warned > 0
        ? "warned"
        : (kinds.find((one) => counted[one] > 0) ?? "created"),
  );
  const [excluded, setExcluded] = useState<Excluded>({ created: nothingExcluded, updated: nothingExcluded });
  const canRemove = info.missing !== null && info.missing.obstacle === undefined && info.missing.count > 0;
  const [isRemoving, setRemoving] = useState(canRemove);
  useUnsaved(useEdited([toBody(excluded), isRemoving]));
  const change = changes.find((one) => one === kind);
  return (
    <Stack spacing={2}>
      <Typography aria-live="polite">{translate("import.nothing_stored")}</Typography>
      {info.skipped > 0 && <Typography>{translate("import.skipped", { smart_count: info.skipped })}</Typography>}
      <Box
        role="group"
        aria-label={translate("import.step_check")}
        sx={{ display: "flex", flexWrap: "wrap", gap: 0.75 }}
      >
        {kinds.map((one) => (
          <Chip
            key={one}
            label={translate(`import.check_${one}`, { count: toNumber(counted[one]) })}
            color={one === kind ? "primary" : "default"}
            variant={one === kind ? "filled" : "outlined"}
            aria-pressed={one === kind}
            onClick={() => setKind(one)}
          />
        ))}
      </Box>
      {info.values.length > 0 && kind === "rejected" && <Repairs info={info} onChecked={onStarted} />}
      {info.missing && (kind === "missing" || info.missing.obstacle !== undefined) && (
        <Missing info={info} missing={info.missing} isRemoving={isRemoving} onChange={setRemoving} />
      )}
      <CheckTable
        key={kind}
        id={info.id}
        resource={info.resource}
        kind={kind}
        exclusion={change && excluded[change]}
        onExclude={(exclusion) => change && setExcluded({ ...excluded, [change]: exclusion })}
      />
      <RunBar
        info={info}
        excluded={excluded}
        removals={isRemoving ? counted.missing : 0}
        onBack={onBack}
        onStarted={onStarted}
      />
    </Stack>
  );
}

function toBody(excluded: Excluded): RunBody {
  return {
    without: changes.flatMap((kind) => [...excluded[kind].rows]),
    withoutKinds: changes.filter((kind) => excluded[kind].isAll),
  };
}

function countChosen({ counts }: ImportInfo, excluded: Excluded): number {
  const countOf = (kind: keyof Excluded) =>
    excluded[kind].isAll ? 0 : (counts?.[kind] ?? 0) - excluded[kind].rows.size;
  return countOf("created") + countOf("updated");
}

interface MissingProps {
  readonly info: ImportInfo;
  readonly missing: MissingInfo;
  readonly isRemoving: boolean;
  readonly onChange: (isRemoving: boolean) => void;
}

function Missing({ info, missing: { count, total, obstacle }, isRemoving, onChange }: MissingProps) {
  const plural = pluralOf(useDeclared().resources, info.resource);
  if (obstacle !== undefined)
    return <Alert severity="warning">{translate("import.missing_obstacle", { plural, obstacle })}</Alert>;
  if (count === 0) return null;
  return (
    <div>
      <Typography>
        {translate("import.missing_count", { count: toNumber(count), total: toNumber(total), plural })}
      </Typography>
      <Tick label={translate("import.missing_remove")} checked={isRemoving} onChange={onChange} />
    </div>
  );
}

interface RunBarProps extends CheckStepProps {
  readonly excluded: Excluded;
  /** Number of records to remove. */
  readonly removals: number;
}

/** The bar with the button that starts the import. If records will be removed, a dialog first asks to type how many. */
function RunBar({ info, excluded, removals, onBack, onStarted }: RunBarProps) {
  const siteName = useSiteName();
  const plural = pluralOf(useDeclared().resources, info.resource);
  const [isAsking, setAsking] = useState(false);
  const start = async () => {
    const body: RunBody = { ...toBody(excluded), ...(removals > 0 ? { removals } : {}) };
    onStarted(await callApi<ImportInfo>("POST", `${importPath(siteName, info.id)}/run`, body));
  };
  const chosen = countChosen(info, excluded);
  const numbers = { smart_count: chosen, count: toNumber(chosen), removals: toNumber(removals) };
  return (
    <>
      <ActionBar
        action={translate(removals > 0 ? "import.run_removing" : "import.run", numbers)}
        onAct={start}
        onAsk={removals > 0 ? () => setAsking(true) : undefined}
        reason={chosen === 0 && removals === 0 ? translate("import.nothing_to_do") : ""}
      >
        <Button onClick={() => askBeforeLoss(onBack)}>{translate("import.back")}</Button>
      </ActionBar>
      {isAsking && (
        <RemovalDialog
          removals={removals}
          total={info.missing?.total ?? 0}
          plural={plural}
          onConfirm={start}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

interface RemovalDialogProps {
  readonly removals: number;
  readonly total: number;
  readonly plural: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

function RemovalDialog({ removals, total, plural, onConfirm, onClose }: RemovalDialogProps) {
  const [typed, setTyped] = useState("");
  const numbers = { removals: toNumber(removals), total: toNumber(total), plural };
  return (
    <ActionDialog
      title={translate("import.removal_title", numbers)}
      action={translate("import.removal_action")}
      isDangerous
      isDisabled={typed.replace(/\D/g, "") !== String(removals)}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Typography>{translate("import.removal_explain", numbers)}</Typography>
      <TextInput
        autoFocus
        label={translate("import.removal_type", { removals })}
        value={typed}
        onChange={setTyped}
        input={{ inputMode: "numeric", autoComplete: "off" }}
      />
    </ActionDialog>
  );
}

interface RepairsProps {
  readonly info: ImportInfo;
  /** Called once another check has started. */
  readonly onChecked: (started: ImportInfo) => void;
}

function Repairs({ info, onChecked }: RepairsProps) {
  const siteName = useSiteName();
  const { resources, countries } = useDeclared();
  const { isBusy, fault, attempt } = useAttempt();
  const [, keep] = useKeptMapping(info.resource);
  const [chosen, setChosen] = useState<Readonly<Record<string, Replacements>>>({});
  if (info.values.length === 0) return null;
  const { fields = [] } = resources.find(({ path }) => path === info.resource) ?? {};
  const isCountry = (field: string) =>
    fields.find(({ path }) => path === field)?.pattern?.fault.code === "invalid-country";
  const replacementsOf = ({ field, contents }: RepairableValuesInfo): Replacements => ({
    ...Object.fromEntries(contents.map(({ content, suggestion = "" }) => [content, suggestion])),
    ...chosen[field],
  });
  const use = async () => {
    const { mapping = { fields: {} }, match = "", ...how } = info.options ?? {};
    const repaired = info.values.reduce(
      (all, values) => withReplacements(all, values.field, replacementsOf(values)),
      mapping,
    );
    const body: CheckBody = { ...how, match, mapping: repaired };
    const started = await callApi<ImportInfo>("POST", `${importPath(siteName, info.id)}/check`, body);
    keep({ mapping: repaired, match });
    onChecked(started);
  };
  return (
    <Stack spacing={1.5}>
      <Typography>{translate("import.repair_explain")}</Typography>
      {info.values.map((values) => (
        <ValueTable
          key={values.field}
          values={values}
          codes={isCountry(values.field) ? countries : []}
          replacements={replacementsOf(values)}
          onChange={(changed) => setChosen({ ...chosen, [values.field]: changed })}
        />
      ))}
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button variant="outlined" onClick={() => attempt(use)} disabled={isBusy} sx={{ alignSelf: "start" }}>
        {translate("import.repair")}
      </Button>
    </Stack>
  );
}

interface ValueTableProps {
  readonly values: RepairableValuesInfo;
  /** The codes of countries that the field's values can be. */
  readonly codes: readonly string[];
  readonly replacements: Replacements;
  readonly onChange: (replacements: Replacements) => void;
}

function ValueTable({ values, codes, replacements, onChange }: ValueTableProps) {
  const { field, contents, moreRows = 0 } = values;
  const listId = useId();
  const nameOf = ({ content }: Content) => showInvisible(content) || translate("history.empty");
  const columns: readonly DataColumn<Content>[] = [
    {
      name: "content",
      label: translate("import.repair_content", { field: fullLabelOf(field) }),
      isPrimary: true,
      render: nameOf,
    },
    { name: "rows", label: translate("import.repair_rows"), align: "right", render: ({ rows }) => toNumber(rows) },
    {
      name: "replacement",
      label: translate("import.repair_replacement"),
      render: (row) => (
        <Box
          component="input"
          list={listId}
          aria-label={translate("import.repair_of", { content: nameOf(row) })}
          value={replacements[row.content] ?? ""}
          onChange={({ target }) => onChange({ ...replacements, [row.content]: target.value })}
          sx={selectStyle}
        />
      ),
    },
  ];
  return (
    <Stack spacing={1}>
      <datalist id={listId}>
        {codes.map((code) => (
          <option key={code} value={code} label={countryNames.of(code)} />
        ))}
      </datalist>
      <DataList
        label={fullLabelOf(field)}
        // New objects, because a row is only rendered again if it's another object.
        rows={contents.map((content) => ({ ...content }))}
        columns={columns}
        rowKey={({ content }) => content}
        nameOf={nameOf}
      />
      {moreRows > 0 && (
        <Typography variant="body2" color="textSecondary">
          {translate("import.repair_more", { smart_count: moreRows, count: toNumber(moreRows) })}
        </Typography>
      )}
    </Stack>
  );
}

type Content = RepairableValuesInfo["contents"][number];

const countryNames = new Intl.DisplayNames([locale], { type: "region" });
