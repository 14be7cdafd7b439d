import { Box, Radio, Table, TableBody, TableCell, TableHead, TableRow } from "@mui/material";
import { useTranslate } from "react-admin";
import { groupOf, labelOf } from "../api/declarations.ts";
import { visible } from "../text/visible.ts";
import type { DifferingField, Side } from "./merge.ts";

interface ConflictTableProps {
  readonly fields: readonly DifferingField[];
  readonly chosen: (field: DifferingField) => Side;
  readonly onChoose: (path: string, side: Side) => void;
}

const sides = ["theirs", "mine"] as const;

/** A table of the fields with two values, in which the operator chooses one for each field. */
export function ConflictTable({ fields, ...rest }: ConflictTableProps) {
  const translate = useTranslate();
  return (
    <Box sx={{ overflowX: "auto" }}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell component="td" />
            {sides.map((side) => (
              <TableCell key={side}>{translate(`record.${side}`)}</TableCell>
            ))}
          </TableRow>
        </TableHead>
        <TableBody>
          {fields.map((field) => (
            <ConflictRow key={field.path} field={field} {...rest} />
          ))}
        </TableBody>
      </Table>
    </Box>
  );
}

interface ConflictRowProps extends Omit<ConflictTableProps, "fields"> {
  readonly field: DifferingField;
}

function ConflictRow({ field, chosen, onChoose }: ConflictRowProps) {
  const translate = useTranslate();
  const { path } = field;
  const group = groupOf(path);
  const label = group ? `${labelOf(group)}: ${labelOf(path).toLowerCase()}` : labelOf(path);
  return (
    <TableRow>
      <TableCell component="th" scope="row">
        {label}
      </TableCell>
      {sides.map((side) => (
        <TableCell key={side} sx={{ overflowWrap: "anywhere" }}>
          <Radio
            size="small"
            name={`conflict ${path}`}
            checked={chosen(field) === side}
            onChange={() => onChoose(path, side)}
            slotProps={{ input: { "aria-label": `${label}: ${translate(`record.${side}`)}` } }}
          />
          {visible(field[side]) || <em>{translate("record.empty_value")}</em>}
        </TableCell>
      ))}
    </TableRow>
  );
}
