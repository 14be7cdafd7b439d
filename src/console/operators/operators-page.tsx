// The page of operators, and the dialogs that add, edit and remove them.

import {
  Alert,
  Autocomplete,
  Box,
  Chip,
  FormControl,
  FormControlLabel,
  FormLabel,
  Radio,
  RadioGroup,
  TextField,
  Typography,
} from "@mui/material";
import { useMemo, useState } from "react";
import type {
  LinkResponse,
  NewOperatorBody,
  OperatorBody,
  OperatorInfo,
  OperatorRemovalBody,
  OperatorResponse,
  OperatorsResponse,
  RoleInfo,
} from "../../admin/api/types.ts";
import { useSignInWays } from "../api/server-access.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { ActionMenu } from "../shell/action-menu.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { TextInput } from "../shell/fields.tsx";
import { Initial } from "../shell/initial.tsx";
import { showSecret } from "../shell/new-secret.tsx";
import { notify } from "../shell/notices.tsx";
import { Page } from "../shell/page.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { NewButton, ViewOnlyNotice } from "../shell/role-notice.tsx";
import { useCan, useDeclared, useSession } from "../shell/site-context.ts";
import { useRead, useSend } from "../shell/site-data.ts";
import { useEdited } from "../shell/unsaved.ts";
import { toDay, When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";

const tasks = ["edit", "sign_out", "remove"] as const;

type OpenOperator =
  | { readonly kind: "new" }
  | { readonly kind: (typeof tasks)[number]; readonly operator: OperatorInfo };

export function OperatorsPage() {
  const query = useRead<OperatorsResponse>("/operators");
  const [open, setOpen] = useState<OpenOperator>();
  const { singleSignOn } = useSignInWays();
  const explain = translate(singleSignOn ? "operators.explain_sso" : "operators.explain");
  const add = <NewButton text={translate("operators.add")} onClick={() => setOpen({ kind: "new" })} />;
  return (
    <Page title={translate("operators.title")} explain={explain} actions={add}>
      <ViewOnlyNotice right="settings" />
      <QueryResult query={query}>
        {({ operators }) => <OperatorList operators={operators} onOpen={setOpen} />}
      </QueryResult>
      {open && <OpenDialog open={open} operators={query.data?.operators ?? []} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

interface OperatorListProps {
  readonly operators: readonly OperatorInfo[];
  readonly onOpen: (open: OpenOperator) => void;
}

function OperatorList({ operators, onOpen }: OperatorListProps) {
  const { operator: own } = useSession();
  const canChange = useCan("settings");
  const columns = useMemo(() => columnsOf(own), [own]);
  const { link } = useOperatorActions();
  const { links } = useSignInWays();
  const actionsOf = (operator: OperatorInfo) => (
    <ActionMenu
      label={translate("general.actions_for", { name: operator.name })}
      actions={links && !operator.singleSignOn ? (["link", ...tasks] as const) : tasks}
      textOf={(task) => translate(`operators.${task}`)}
      dangerous="remove"
      onChoose={(kind) => {
        if (kind === "link") link(operator).catch((error: Error) => notify(error.message, "error"));
        else onOpen({ kind, operator });
      }}
    />
  );
  return (
    <DataList
      label={translate("operators.title")}
      rows={operators}
      columns={columns}
      rowKey={({ id }) => id}
      nameOf={({ name }) => name}
      actions={canChange ? actionsOf : undefined}
    />
  );
}

/** @param own the signed-in operator's name */
function columnsOf(own: string): DataColumn<OperatorInfo>[] {
  const named = (name: "name" | "role" | "sites" | "signed_in" | "created") => ({
    name,
    label: translate(`operators.${name}`),
  });
  return [
    {
      ...named("name"),
      isPrimary: true,
      render: ({ name, singleSignOn }) => (
        <span className="named">
          <Initial name={name} isPerson />
          <strong>{showInvisible(name)}</strong>
          {name === own && <Chip variant="outlined" label={translate("operators.you")} />}
          {singleSignOn && <Chip variant="outlined" label={translate("operators.sso")} />}
        </span>
      ),
    },
    { ...named("role"), render: ({ role }) => translate(`roles.${role}`) },
    {
      ...named("sites"),
      render: ({ sites }) =>
        sites ? sites.join(", ") || translate("general.none") : translate("operators.every_site"),
    },
    {
      ...named("signed_in"),
      render: ({ signedIn }) => (signedIn ? <When at={signedIn} /> : translate("general.never")),
    },
    { ...named("created"), render: ({ created }) => toDay(created) },
  ];
}

interface OpenDialogProps {
  readonly open: OpenOperator;
  readonly operators: readonly OperatorInfo[];
  readonly onClose: () => void;
}

function OpenDialog({ open, operators, onClose }: OpenDialogProps) {
  if (open.kind === "new") return <AddOperator onClose={onClose} />;
  const { kind, operator } = open;
  const edit = operator.singleSignOn ? ManagedOperator : ChangeOperator;
  const Shown = { edit, sign_out: SignOutOperator, remove: RemoveOperator }[kind];
  return <Shown operator={operator} isLast={isLastAdmin(operator, operators)} onClose={onClose} />;
}

/** Whether `operator` is the only admin of all sites. */
function isLastAdmin(operator: OperatorInfo, operators: readonly OperatorInfo[]): boolean {
  const isAdmin = ({ sites, role }: OperatorInfo) => sites === null && role === "admin";
  return isAdmin(operator) && operators.every((one) => one.id === operator.id || !isAdmin(one));
}

/** Returns the functions that change operators. After each, the list is reloaded. */
function useOperatorActions() {
  const send = useSend("/operators");
  return {
    add: (operator: NewOperatorBody) => send<OperatorResponse>("POST", "", operator),
    /** Changes an operator's sites or role. */
    change: (id: number, change: OperatorBody) => send("PATCH", `/${id}`, change),
    remove: (id: number, confirmation: OperatorRemovalBody) => send("DELETE", `/${id}`, confirmation),
    /** Creates a link that signs the operator in to this page, and shows it. */
    async link({ id, name }: OperatorInfo) {
      const { secret } = await send<LinkResponse>("POST", `/${id}/link`, {});
      showSecret({
        title: translate("operators.link_for", { name }),
        explain: translate("operators.link_once", { name }),
        secrets: { [translate("operators.link_label")]: `${location.origin}/#sign-in=${secret}` },
      });
    },
    signOut: (id: number) => send("POST", `/${id}/sign-out`, {}),
  };
}

/** Adds an operator, and then offers to create the link that they need to sign in. */
function AddOperator({ onClose }: Pick<OpenDialogProps, "onClose">) {
  const { add, link } = useOperatorActions();
  const [name, setName] = useState("");
  const [access, setAccess] = useState<Access>({ role: "viewer", isForAll: false, sites: [] });
  const [added, setAdded] = useState<OperatorInfo>();
  const isEdited = useEdited([name, access]);
  const sites = sitesOf(access);
  async function submit() {
    const { operator } = await add({ name: name.trim(), sites, role: access.role as RoleInfo });
    setAdded(operator);
    return false;
  }
  if (added)
    return (
      <ActionDialog
        title={translate("operators.added", { name: added.name })}
        action={translate("operators.link")}
        cancelText={translate("general.done")}
        onConfirm={() => link(added)}
        onClose={onClose}
      >
        <Typography>{translate("operators.added_explain")}</Typography>
      </ActionDialog>
    );
  return (
    <ActionDialog
      title={translate("operators.add")}
      action={translate("general.add")}
      isEdited={isEdited}
      isDisabled={sites?.length === 0}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextInput
        autoFocus
        required
        label={translate("operators.name")}
        helperText={translate("operators.name_help")}
        value={name}
        onChange={setName}
        input={{ maxLength: 64, autoComplete: "off" }}
      />
      <AccessChoice value={access} onChange={setAccess} />
    </ActionDialog>
  );
}

interface OperatorDialogProps extends Pick<OpenDialogProps, "onClose"> {
  readonly operator: OperatorInfo;
  /** Whether this is the only admin of all sites. */
  readonly isLast: boolean;
}

function ChangeOperator({ operator, isLast, onClose }: OperatorDialogProps) {
  const { change } = useOperatorActions();
  const { operator: own } = useSession();
  const { id, name, role: before } = operator;
  const [access, setAccess] = useState<Access>({
    role: before,
    isForAll: operator.sites === null,
    sites: operator.sites ?? [],
  });
  const sites = sitesOf(access);
  const { role } = access;
  const isSame = `${sites?.toSorted()}` === `${operator.sites?.toSorted()}`;
  const isLimited = (operator.sites === null && sites !== null) || (before === "admin" && role !== "admin");
  return (
    <ActionDialog
      title={translate("operators.edit_title", { name })}
      action={translate(isLimited && isLast ? "operators.limit_last_confirm" : "general.save")}
      isDangerous={isLimited && isLast}
      isEdited={useEdited(access)}
      isDisabled={sites?.length === 0 || (isSame && role === before)}
      // Only sends what has changed, so that another operator's changes are kept.
      onConfirm={() =>
        change(id, { ...(!isSame && { sites }), ...(role !== before && role !== "unknown" && { role }), isLast })
      }
      onClose={onClose}
    >
      <AccessChoice value={access} onChange={setAccess} />
      <Typography color="textSecondary" variant="body2">
        {translate("operators.edit_explain", { name })}
      </Typography>
      {isLimited && name === own && <Alert severity="warning">{translate("operators.limit_self")}</Alert>}
      {isLimited && isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

/** Says why there's nothing to edit. */
function ManagedOperator({ operator: { name, singleSignOn }, onClose }: OperatorDialogProps) {
  return (
    <DialogFrame title={translate("operators.edit_title", { name })} onClose={onClose}>
      <Typography>{translate("operators.sso_explain", { name, issuer: singleSignOn?.issuer ?? "" })}</Typography>
    </DialogFrame>
  );
}

function SignOutOperator({ operator: { id, name }, onClose }: OperatorDialogProps) {
  const { signOut } = useOperatorActions();
  return (
    <ActionDialog
      title={translate("operators.sign_out_title", { name })}
      action={translate("operators.sign_out")}
      onConfirm={() => signOut(id)}
      onClose={onClose}
    >
      <Typography>{translate("operators.sign_out_explain", { name })}</Typography>
    </ActionDialog>
  );
}

function RemoveOperator({ operator: { id, name, singleSignOn }, isLast, onClose }: OperatorDialogProps) {
  const { remove } = useOperatorActions();
  const { operator: own } = useSession();
  return (
    <ActionDialog
      title={translate("operators.remove_title", { name })}
      action={translate(isLast ? "operators.remove_last_confirm" : "operators.remove")}
      isDangerous
      onConfirm={() => remove(id, { isLast })}
      onClose={onClose}
    >
      <Typography>{translate("operators.remove_explain", { name })}</Typography>
      {singleSignOn && (
        <Alert severity="info">{translate("operators.sso_remove", { issuer: singleSignOn.issuer })}</Alert>
      )}
      {name === own && <Alert severity="warning">{translate("operators.remove_self")}</Alert>}
      {isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

interface Access {
  readonly role: OperatorInfo["role"];
  readonly isForAll: boolean;
  /** Names of the chosen sites. They're remembered while `isForAll` is true. */
  readonly sites: readonly string[];
}

/** Converts the choice for the API, where null means all sites. */
function sitesOf({ isForAll, sites }: Access): readonly string[] | null {
  return isForAll ? null : sites;
}

const maxOptions = 50;

const roles: readonly RoleInfo[] = ["viewer", "editor", "admin"];

interface AccessChoiceProps {
  readonly value: Access;
  readonly onChange: (value: Access) => void;
}

/** Chooses a role and live sites. Access to a live site includes its sandbox. */
function AccessChoice({ value, onChange }: AccessChoiceProps) {
  const { sites: known } = useDeclared();
  const { isForAll, sites, role } = value;
  return (
    <>
      <FormControl component="fieldset">
        <FormLabel component="legend">{translate("operators.role")}</FormLabel>
        <RadioGroup
          value={role}
          onChange={({ target }) => onChange({ ...value, role: target.value as RoleInfo })}
          sx={{ gap: 0.5, "& .MuiFormControlLabel-root": { alignItems: "flex-start" } }}
        >
          {roles.map((one) => (
            <FormControlLabel key={one} value={one} control={<Radio size="small" />} label={<RoleLabel role={one} />} />
          ))}
        </RadioGroup>
      </FormControl>
      <FormControl component="fieldset">
        <FormLabel component="legend">{translate("operators.where")}</FormLabel>
        <RadioGroup
          value={isForAll ? "all" : "some"}
          onChange={({ target }) => onChange({ ...value, isForAll: target.value === "all" })}
        >
          <FormControlLabel value="some" control={<Radio size="small" />} label={translate("operators.some_sites")} />
          <FormControlLabel
            value="all"
            control={<Radio size="small" />}
            label={translate(role === "admin" ? "operators.every_site_all" : "operators.every_site")}
          />
        </RadioGroup>
      </FormControl>
      {!isForAll && (
        <Autocomplete
          multiple
          disableCloseOnSelect
          options={known.filter(({ sandboxOf }) => sandboxOf === null).map((site) => site.name)}
          value={[...sites]}
          onChange={(_event, chosen) => onChange({ ...value, sites: chosen })}
          filterOptions={(options, { inputValue }) =>
            options.filter((option) => option.includes(inputValue.trim().toLowerCase())).slice(0, maxOptions)
          }
          renderInput={(parameters) => (
            <TextField
              {...parameters}
              label={translate("operators.sites")}
              helperText={sites.length === 0 && translate("operators.no_site_yet")}
            />
          )}
        />
      )}
    </>
  );
}

function RoleLabel({ role }: { readonly role: RoleInfo }) {
  return (
    <Box component="span" sx={{ display: "block", pt: "7px" }}>
      {translate(`roles.${role}`)}
      <Typography component="span" variant="body2" color="textSecondary" sx={{ display: "block" }}>
        {translate(`roles.${role}_help`)}
      </Typography>
    </Box>
  );
}
