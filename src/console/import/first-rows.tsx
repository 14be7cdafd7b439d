// The first rows of a table, as in a spreadsheet. The operator chooses the row with the column names, or none.

import { Box, FormControlLabel, Radio } from "@mui/material";
import type { FilePreviewResponse } from "../../admin/api/record-types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { showInvisible, translate } from "../text/translate.ts";

type Rows = NonNullable<FilePreviewResponse["rows"]>;

interface FirstRowsProps {
  readonly rows: Rows;
  /** The number of the row with the column names, or 0 if there's none. */
  readonly headerRow: number;
  readonly onChange: (headerRow: number) => void;
}

/** More columns are cut off, because they'd slow down the page. */
const maxColumns = 50;
/** How much of a row its radio button is named by, in characters. */
const maxNameLength = 80;

export function FirstRows({ rows, headerRow, onChange }: FirstRowsProps) {
  const widths = rows.map(({ cells }) => cells.findLastIndex((cell) => cell.trim() !== "") + 1);
  const letters = Array.from({ length: Math.min(maxColumns, Math.max(0, ...widths)) }, (_, index) => letterOf(index));
  const choice = { headerRow, onChange };
  const columns: readonly DataColumn<Rows[number]>[] = [
    {
      name: "row",
      label: translate("import.row_number"),
      render: (row) => <HeaderRow {...choice} number={row.number} name={nameOf(row)} text={String(row.number)} />,
    },
    ...letters.map((letter, index) => ({
      name: letter,
      label: letter,
      attributes: ({ number }: Rows[number]) => ({
        style: { ...cellStyle, fontWeight: number === headerRow ? 600 : undefined },
      }),
      render: ({ cells }: Rows[number]) => showInvisible(cells[index] ?? ""),
    })),
  ];
  return (
    <Box component="fieldset" sx={{ border: 0, p: 0, m: 0, minWidth: 0 }}>
      <Box component="legend" sx={{ p: 0, mb: 0.75, fontSize: 14 }}>
        {translate("import.header")}
      </Box>
      <DataList
        isTable
        label={translate("import.header")}
        rows={rows}
        columns={columns}
        rowKey={({ number }) => number}
        nameOf={nameOf}
        onOpen={({ number }) => onChange(number)}
        isPale={({ number }) => number < headerRow}
      />
      <HeaderRow {...choice} number={0} name={translate("import.no_header")} text={translate("import.no_header")} />
    </Box>
  );
}

const cellStyle = { maxWidth: 200, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" } as const;

interface HeaderRowProps extends Omit<FirstRowsProps, "rows"> {
  readonly number: number;
  /** For screen readers. */
  readonly name: string;
  readonly text: string;
}

function HeaderRow({ number, name, text, headerRow, onChange }: HeaderRowProps) {
  return (
    <FormControlLabel
      control={
        <Radio
          size="small"
          name="header-row"
          checked={number === headerRow}
          onChange={() => onChange(number)}
          slotProps={{ input: { "aria-label": name } }}
          sx={{ p: 0.5 }}
        />
      }
      label={text}
      slotProps={{ typography: { variant: "body2" } }}
      sx={{ m: 0 }}
    />
  );
}

function nameOf({ number, cells }: Rows[number]): string {
  const shown = showInvisible(cells.filter((cell) => cell.trim() !== "").join(", ")).slice(0, maxNameLength);
  return translate("import.header_row", { row: number, cells: shown });
}

/** Returns a column's letters in a spreadsheet: A for 0, Z for 25, AA for 26. */
function letterOf(index: number): string {
  return (index < 26 ? "" : letterOf(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));
}
