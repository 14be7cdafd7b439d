import {
  Box,
  Button,
  Card,
  Stack,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { Confirm } from "../confirm.tsx";
import { NewSecret } from "../keys/new-secret.tsx";
import { PageTitle } from "../shell/page-title.tsx";
import { useSession } from "../site-context.ts";
import { toDay } from "../times.ts";
import { AddOperator, ChangeSites, RemoveOperator } from "./operator-dialogs.tsx";
import { type Operator, useOperatorActions, useOperators } from "./operators.ts";

/** What is open over the list. */
type Open =
  | { readonly kind: "new" }
  | { readonly kind: "link" | "change_sites" | "sign_out" | "remove"; readonly operator: Operator }
  | { readonly kind: "secret"; readonly operator: Operator; readonly link: string };

/** The people who may use the console. */
export function OperatorsPage() {
  const translate = useTranslate();
  const operators = useOperators();
  const [open, setOpen] = useState<Open>();
  const { link } = useOperatorActions();
  async function choose(chosen: Open) {
    if (chosen.kind !== "link") return setOpen(chosen);
    const { operator } = chosen;
    setOpen({ kind: "secret", operator, link: await link(operator.id) });
  }
  return (
    <Box component="section" sx={{ mt: 2 }}>
      <PageTitle title={translate("operators.title")} />
      <Stack
        direction={{ xs: "column", sm: "row" }}
        spacing={2}
        sx={{ mb: 2, alignItems: { sm: "center" }, justifyContent: "space-between" }}
      >
        <Typography color="textSecondary">{translate("operators.explain")}</Typography>
        <Button variant="contained" data-shortcut="new" onClick={() => setOpen({ kind: "new" })} sx={{ flexShrink: 0 }}>
          {translate("operators.add")}
        </Button>
      </Stack>
      {operators && <OperatorTable operators={operators} onOpen={choose} />}
      <OpenDialog open={open} operators={operators ?? []} onOpen={setOpen} />
    </Box>
  );
}

const onDesktop = { display: { xs: "none", sm: "table-cell" } };

interface TableProps {
  readonly operators: readonly Operator[];
  readonly onOpen: (open: Open) => void;
}

function OperatorTable({ operators, onOpen }: TableProps) {
  const translate = useTranslate();
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell>{translate("operators.name")}</TableCell>
            <TableCell>{translate("operators.sites")}</TableCell>
            <TableCell sx={onDesktop}>{translate("operators.created")}</TableCell>
            <TableCell component="td" />
          </TableRow>
        </TableHead>
        <TableBody>
          {operators.map((operator) => (
            <OperatorRow key={operator.id} operator={operator} onOpen={onOpen} />
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

function OperatorRow({ operator, onOpen }: { readonly operator: Operator; readonly onOpen: (open: Open) => void }) {
  const translate = useTranslate();
  const { operator: own } = useSession();
  const { name, sites, created } = operator;
  const shown = sites ? sites.join(", ") || translate("operators.no_sites") : translate("operators.all_sites");
  return (
    <TableRow hover>
      <TableCell sx={{ fontWeight: 600, overflowWrap: "anywhere", minWidth: 100 }}>
        {name === own ? `${name} (${translate("operators.you")})` : name}
      </TableCell>
      <TableCell sx={{ overflowWrap: "anywhere", minWidth: 100 }}>{shown}</TableCell>
      <TableCell sx={onDesktop}>{toDay(created)}</TableCell>
      <TableCell align="right" sx={{ whiteSpace: { sm: "nowrap" } }}>
        {(["link", "change_sites", "sign_out", "remove"] as const).map((kind) => (
          <Button
            key={kind}
            size="small"
            color={kind === "remove" ? "error" : "primary"}
            onClick={() => onOpen({ kind, operator })}
            aria-label={`${translate(`operators.${kind}`)}: ${name}`}
          >
            {translate(`operators.${kind}`)}
          </Button>
        ))}
      </TableCell>
    </TableRow>
  );
}

interface OpenDialogProps {
  readonly open: Open | undefined;
  readonly operators: readonly Operator[];
  readonly onOpen: (open: Open | undefined) => void;
}

function OpenDialog({ open, operators, onOpen }: OpenDialogProps) {
  const translate = useTranslate();
  const actions = useOperatorActions();
  const close = () => onOpen(undefined);
  if (!open) return null;
  if (open.kind === "new") return <AddOperator onSubmit={actions.add} onClose={close} />;
  const { operator } = open;
  const { id, name } = operator;
  if (open.kind === "secret")
    return (
      <NewSecret
        title={translate("operators.link_title", { name })}
        explain={translate("operators.link_once", { name })}
        secrets={{ [translate("operators.link_label")]: open.link }}
        onClose={close}
      />
    );
  const isLast = operator.sites === null && operators.every((one) => one.id === id || one.sites !== null);
  if (open.kind === "change_sites") {
    const change = (sites: readonly string[] | null) => actions.change(id, sites, isLast);
    return <ChangeSites operator={operator} isLast={isLast} onSubmit={change} onClose={close} />;
  }
  if (open.kind === "remove") {
    const remove = () => actions.remove(id, isLast);
    return <RemoveOperator operator={operator} isLast={isLast} onRemove={remove} onClose={close} />;
  }
  return (
    <Confirm
      title={translate("operators.sign_out_title", { name })}
      action={translate("operators.sign_out")}
      isDangerous
      onConfirm={() => actions.signOut(id)}
      onClose={close}
    >
      <Typography>{translate("operators.sign_out_explain")}</Typography>
    </Confirm>
  );
}
