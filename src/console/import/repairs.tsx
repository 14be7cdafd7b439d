// Values in the file that a field doesn't accept, such as a country's name instead of its code. The operator chooses what to import instead.

import { Alert, Box, Button, Stack, Typography } from "@mui/material";
import { useId, useState } from "react";
import type { CheckBody, ImportInfo, RepairableValuesInfo } from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { fullLabelOf } from "../text/fields.ts";
import { locale, toNumber } from "../text/locale.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { importPath } from "./imports.ts";
import { type Replacements, useKeptMapping, withReplacements } from "./mappings.ts";
import { selectStyle } from "./step-parts.tsx";

interface RepairsProps {
  readonly info: ImportInfo;
  /** Called once another check has started. */
  readonly onChecked: (started: ImportInfo) => void;
}

export function Repairs({ info, onChecked }: RepairsProps) {
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
