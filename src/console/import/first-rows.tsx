// The first rows of a table, as in a spreadsheet. The operator chooses the row with the column names, or none.

import { Box, type Theme } from "@mui/material";
import type { FilePreviewResponse } from "../../admin/api/record-types.ts";
import { forScreenReaders } from "../shell/theme.ts";
import { showInvisible, translate } from "../text/translate.ts";

interface FirstRowsProps {
  readonly rows: NonNullable<FilePreviewResponse["rows"]>;
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
  return (
    <Box component="fieldset" sx={style}>
      <legend>{translate("import.header")}</legend>
      <div className="rows">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <Box component="span" sx={forScreenReaders}>
                  {translate("import.row_number")}
                </Box>
              </th>
              {letters.map((letter) => (
                <th key={letter} scope="col">
                  {letter}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ number, cells }) => (
              <tr key={number} className={lookOf(number, headerRow)} onClick={() => onChange(number)}>
                <th scope="row">
                  <HeaderRow
                    {...choice}
                    number={number}
                    name={translate("import.header_row", { row: number, cells: nameOf(cells) })}
                    text={String(number)}
                  />
                </th>
                {letters.map((letter, index) => (
                  <td key={letter}>{showInvisible(cells[index] ?? "")}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="none">
        <HeaderRow {...choice} number={0} name={translate("import.no_header")} text={translate("import.no_header")} />
      </div>
    </Box>
  );
}

interface HeaderRowProps extends Omit<FirstRowsProps, "rows"> {
  readonly number: number;
  /** For screen readers. */
  readonly name: string;
  readonly text: string;
}

function HeaderRow({ number, name, text, headerRow, onChange }: HeaderRowProps) {
  return (
    <label>
      <input
        type="radio"
        name="header-row"
        aria-label={name}
        checked={number === headerRow}
        onChange={() => onChange(number)}
      />
      {text}
    </label>
  );
}

function lookOf(number: number, headerRow: number): string | undefined {
  return number === headerRow ? "header" : number < headerRow ? "above" : undefined;
}

function nameOf(cells: readonly string[]): string {
  return showInvisible(cells.filter((cell) => cell.trim() !== "").join(", ")).slice(0, maxNameLength);
}

/** Returns a column's letters in a spreadsheet: A for 0, Z for 25, AA for 26. */
function letterOf(index: number): string {
  return (index < 26 ? "" : letterOf(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));
}

const style = (theme: Theme) =>
  ({
    border: 0,
    p: 0,
    m: 0,
    minWidth: 0,
    fontSize: 13,
    "& legend": { p: 0, mb: 0.75 },
    "& .rows": {
      width: "fit-content",
      maxWidth: "100%",
      overflowX: "auto",
      border: 1,
      borderColor: "divider",
      borderRadius: 1,
    },
    "& table": { borderCollapse: "collapse", fontVariantNumeric: "tabular-nums" },
    "& th, & td": { height: 30, px: 1, py: 0.25, textAlign: "left", fontWeight: "inherit", whiteSpace: "nowrap" },
    "& td": { maxWidth: 200, overflow: "hidden", textOverflow: "ellipsis", borderLeft: 1, borderColor: "divider" },
    "& thead th": { height: 24, color: "text.secondary", bgcolor: "action.hover", fontSize: 12 },
    "& tbody tr": { cursor: "pointer", borderTop: 1, borderColor: "divider" },
    "& tbody tr:hover": { bgcolor: "action.hover" },
    "& .header": { fontWeight: 600, bgcolor: "action.selected" },
    "& .above": { color: "text.secondary" },
    "& label": { display: "flex", alignItems: "center", gap: 0.75, cursor: "pointer" },
    "& input": { m: 0, width: 16, height: 16, accentColor: theme.palette.primary.main, cursor: "pointer" },
    "& .none": { mt: 1, px: 1, width: "fit-content" },
  }) as const;
