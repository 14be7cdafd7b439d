import {
  Alert,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  Table,
  TableBody,
  TableCell,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { useEffect, useState } from "react";
import { useDataProvider, useRefresh, useTranslate } from "react-admin";
import { labelOf, type ResourceDeclaration } from "../declarations.ts";
import { differences, type RecordValues } from "../history/history.ts";

interface ConflictDialogProps {
  readonly resource: ResourceDeclaration;
  readonly id: string;
  /** The values that could not be saved. */
  readonly mine: object;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Shows what someone else has saved meanwhile beside what was typed here, and asks which of them is to stay. */
export function ConflictDialog({ resource, id, mine, onClose, onDone }: ConflictDialogProps) {
  const translate = useTranslate();
  const provider = useDataProvider();
  const refresh = useRefresh();
  const [stored, setStored] = useState<{ readonly version: string }>();
  const [fault, setFault] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: read once
  useEffect(() => {
    provider.getOne(resource.path, { id }).then(
      ({ data }) => setStored(data),
      (error) => setFault(error.message),
    );
  }, []);

  async function keepMine() {
    try {
      await provider.update(resource.path, { id, data: mine, previousData: stored as never });
      refresh();
      onDone();
    } catch (error) {
      setFault((error as Error).message);
    }
  }

  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="md" aria-labelledby="conflict">
      <DialogTitle id="conflict">{translate("record.conflict_title")}</DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 1 }}>{translate("record.conflict")}</Typography>
        {fault && <Alert severity="error">{fault}</Alert>}
        {stored && <Differences theirs={stored as unknown as RecordValues} mine={mine as RecordValues} />}
      </DialogContent>
      <DialogActions>
        <Button
          onClick={() => {
            refresh();
            onClose();
          }}
        >
          {translate("record.take_theirs")}
        </Button>
        <Button variant="contained" onClick={keepMine} disabled={!stored}>
          {translate("record.keep_mine")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

const notFields = new Set(["id", "version"]);

function Differences({ theirs, mine }: { readonly theirs: RecordValues; readonly mine: RecordValues }) {
  const translate = useTranslate();
  const shown = (text: string) => text || <em>{translate("record.empty_value")}</em>;
  return (
    <Table size="small">
      <TableHead>
        <TableRow>
          <TableCell component="td" />
          <TableCell>{translate("record.theirs")}</TableCell>
          <TableCell>{translate("record.mine")}</TableCell>
        </TableRow>
      </TableHead>
      <TableBody>
        {differences(theirs, mine)
          .filter(({ path }) => !notFields.has(path))
          .map(({ path, before, after }) => (
            <TableRow key={path}>
              <TableCell component="th" scope="row">
                {labelOf(path)}
              </TableCell>
              <TableCell sx={{ overflowWrap: "anywhere" }}>{shown(before)}</TableCell>
              <TableCell sx={{ overflowWrap: "anywhere" }}>{shown(after)}</TableCell>
            </TableRow>
          ))}
      </TableBody>
    </Table>
  );
}
