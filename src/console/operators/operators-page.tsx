// The page of operators: their list, and the dialog that is open over it.

import { Button, Chip, Typography } from "@mui/material";
import { useCallback, useMemo, useState } from "react";
import type {
  LinkResponse,
  NewOperatorBody,
  OperatorBody,
  OperatorInfo,
  OperatorRemovalBody,
  OperatorsResponse,
} from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { ActionMenu } from "../shell/action-menu.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { Initial } from "../shell/initial.tsx";
import { showSecret } from "../shell/new-secret.tsx";
import { notify } from "../shell/notices.tsx";
import { Page } from "../shell/page.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { LookOnly, NewButton } from "../shell/role-notice.tsx";
import { useMay, useSession } from "../shell/site-context.ts";
import { useRead, useSend } from "../shell/site-data.ts";
import { toDay } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { AddOperator, ChangeOperator, RemoveOperator } from "./operator-dialogs.tsx";

const tasks = ["edit", "sign_out", "remove"] as const;

/** The dialog that is open over the list. */
type OpenOperator =
  | { readonly kind: "new" }
  | { readonly kind: (typeof tasks)[number]; readonly operator: OperatorInfo };

/** The page with the operators, who may use the console. */
export function OperatorsPage() {
  const query = useRead<OperatorsResponse>("/operators");
  const [open, setOpen] = useState<OpenOperator>();
  const add = <NewButton text={translate("operators.add")} onClick={() => setOpen({ kind: "new" })} />;
  return (
    <Page title={translate("operators.title")} explain={translate("operators.explain")} actions={add}>
      <LookOnly right="settings" />
      <QueryResult query={query}>
        {({ operators }) => <OperatorList operators={operators} onOpen={setOpen} />}
      </QueryResult>
      {open && <OpenDialog open={open} operators={query.data?.operators ?? []} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

interface OperatorListProps {
  readonly operators: readonly OperatorInfo[];
  /** Always the same function. */
  readonly onOpen: (open: OpenOperator) => void;
}

function OperatorList({ operators, onOpen }: OperatorListProps) {
  const { operator: own } = useSession();
  const mayChange = useMay("settings");
  const columns = useMemo(() => columnsOf(own), [own]);
  const actionsOf = useCallback(
    (operator: OperatorInfo) => <OperatorActions operator={operator} onOpen={onOpen} />,
    [onOpen],
  );
  return (
    <DataList
      label={translate("operators.title")}
      rows={operators}
      columns={columns}
      rowKey={({ id }) => id}
      nameOf={({ name }) => name}
      actions={mayChange ? actionsOf : undefined}
    />
  );
}

/** @param own the name of the signed-in operator */
function columnsOf(own: string): DataColumn<OperatorInfo>[] {
  const named = (name: "name" | "role" | "sites" | "created") => ({ name, label: translate(`operators.${name}`) });
  return [
    {
      ...named("name"),
      isPrimary: true,
      render: ({ name }) => (
        <span className="named">
          <Initial name={name} isPerson />
          <strong>{showInvisible(name)}</strong>
          {name === own && <Chip variant="outlined" label={translate("operators.you")} />}
        </span>
      ),
    },
    { ...named("role"), render: ({ role }) => translate(`roles.${role}`) },
    {
      ...named("sites"),
      render: ({ sites }) =>
        sites ? sites.join(", ") || translate("operators.no_sites") : translate("operators.every_site"),
    },
    { ...named("created"), render: ({ created }) => toDay(created) },
  ];
}

interface OperatorActionsProps extends Pick<OperatorListProps, "onOpen"> {
  readonly operator: OperatorInfo;
}

/** The button for the most frequent action, a sign-in link, and the menu of the others. */
function OperatorActions({ operator, onOpen }: OperatorActionsProps) {
  const { link } = useOperatorActions();
  const { id, name } = operator;
  async function makeLink() {
    try {
      showSecret({
        title: translate("operators.link_title", { name }),
        explain: translate("operators.link_once", { name }),
        secrets: { [translate("operators.link_label")]: await link(id) },
      });
    } catch (error) {
      notify((error as Error).message, "error");
    }
  }
  return (
    <>
      <Button size="small" variant="outlined" onClick={makeLink} aria-label={translate("operators.link_for", { name })}>
        {translate("operators.link")}
      </Button>
      <ActionMenu
        label={translate("general.actions_for", { name })}
        actions={tasks}
        textOf={(task) => translate(`operators.${task}`)}
        dangerous="remove"
        onChoose={(kind) => onOpen({ kind, operator })}
      />
    </>
  );
}

interface OpenDialogProps {
  readonly open: OpenOperator;
  readonly operators: readonly OperatorInfo[];
  readonly onClose: () => void;
}

function OpenDialog({ open, operators, onClose }: OpenDialogProps) {
  const actions = useOperatorActions();
  if (open.kind === "new") return <AddOperator onSubmit={actions.add} onClose={onClose} />;
  const { kind, operator } = open;
  const { id, name } = operator;
  const isLast = isLastWithAllRights(operator, operators);
  if (kind === "edit") {
    const change = (access: Parameters<typeof actions.change>[1]) => actions.change(id, { ...access, isLast });
    return <ChangeOperator operator={operator} isLast={isLast} onSubmit={change} onClose={onClose} />;
  }
  if (kind === "remove") {
    const remove = () => actions.remove(id, { isLast });
    return <RemoveOperator operator={operator} isLast={isLast} onRemove={remove} onClose={onClose} />;
  }
  return (
    <ActionDialog
      title={translate("operators.sign_out_title", { name })}
      action={translate("operators.sign_out")}
      isDangerous
      onConfirm={() => actions.signOut(id)}
      onClose={onClose}
    >
      <Typography>{translate("operators.sign_out_explain", { name })}</Typography>
    </ActionDialog>
  );
}

/** Whether nobody else than `operator` may do everything in all sites. */
function isLastWithAllRights(operator: OperatorInfo, operators: readonly OperatorInfo[]): boolean {
  const hasAllRights = ({ sites, role }: OperatorInfo) => sites === null && role === "all";
  return hasAllRights(operator) && operators.every((one) => one.id === operator.id || !hasAllRights(one));
}

/** Returns the functions that change operators. After each, the list is read again. */
function useOperatorActions() {
  const send = useSend("/operators");
  return {
    add: (operator: NewOperatorBody) => send("POST", "", operator),
    /** Changes the sites or the role of an operator. */
    change: (id: number, change: OperatorBody) => send("PATCH", `/${id}`, change),
    /** Removes an operator. */
    remove: (id: number, confirmation: OperatorRemovalBody) => send("DELETE", `/${id}`, confirmation),
    /** Creates a sign-in link to this page for the operator. */
    async link(id: number) {
      const { secret } = await send<LinkResponse>("POST", `/${id}/link`, {});
      return `${location.origin}/#sign-in=${secret}`;
    },
    signOut: (id: number) => send("POST", `/${id}/sign-out`, {}),
  };
}
