// The page of operators: their list, and the dialog that is open over it.

import { Button, Typography } from "@mui/material";
import { useState } from "react";
import type { OperatorInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { NewSecret } from "../shell/new-secret.tsx";
import { Page } from "../shell/page.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { translate } from "../text/translate.ts";
import { AddOperator, ChangeSites, RemoveOperator } from "./operator-dialogs.tsx";
import { OperatorList } from "./operator-list.tsx";
import { useOperatorActions, useOperators } from "./operators.ts";

/** The dialog that is open over the list. */
export type OpenOperator =
  | { readonly kind: "new" }
  | { readonly kind: "link" | "change_sites" | "sign_out" | "remove"; readonly operator: OperatorInfo }
  | { readonly kind: "secret"; readonly operator: OperatorInfo; readonly link: string };

/** The page with the operators: the people who may use the console. */
export function OperatorsPage() {
  const query = useOperators();
  const [open, setOpen] = useState<OpenOperator>();
  const { link } = useOperatorActions();
  async function choose(chosen: OpenOperator) {
    if (chosen.kind !== "link") return setOpen(chosen);
    const { operator } = chosen;
    setOpen({ kind: "secret", operator, link: await link(operator.id) });
  }
  const add = (
    <Button variant="contained" data-shortcut="new" onClick={() => setOpen({ kind: "new" })} sx={{ flexShrink: 0 }}>
      {translate("operators.add")}
    </Button>
  );
  return (
    <Page title={translate("operators.title")} explain={translate("operators.explain")} actions={add}>
      <QueryResult query={query}>{(operators) => <OperatorList operators={operators} onOpen={choose} />}</QueryResult>
      <OpenDialog open={open} operators={query.data ?? []} onOpen={setOpen} />
    </Page>
  );
}

interface OpenDialogProps {
  readonly open: OpenOperator | undefined;
  readonly operators: readonly OperatorInfo[];
  readonly onOpen: (open: OpenOperator | undefined) => void;
}

function OpenDialog({ open, operators, onOpen }: OpenDialogProps) {
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
    const change = (sites: readonly string[] | null) => actions.change(id, { sites, isLast });
    return <ChangeSites operator={operator} isLast={isLast} onSubmit={change} onClose={close} />;
  }
  if (open.kind === "remove") {
    const remove = () => actions.remove(id, { isLast });
    return <RemoveOperator operator={operator} isLast={isLast} onRemove={remove} onClose={close} />;
  }
  return (
    <ActionDialog
      title={translate("operators.sign_out_title", { name })}
      action={translate("operators.sign_out")}
      isDangerous
      onConfirm={() => actions.signOut(id)}
      onClose={close}
    >
      <Typography>{translate("operators.sign_out_explain")}</Typography>
    </ActionDialog>
  );
}
