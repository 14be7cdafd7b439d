// The row above a list of records: the search, the number of records, and the menus, or actions while records are selected.

import {
  Box,
  Button,
  Divider,
  IconButton,
  InputAdornment,
  ListItemIcon,
  Menu,
  MenuItem,
  Stack,
  TextField,
  Typography,
} from "@mui/material";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { RecordsResponse } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { sitePath } from "../api/call-api.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useMenu } from "../shell/action-menu.tsx";
import { Choice, TextInput } from "../shell/fields.tsx";
import {
  AddIcon,
  CheckedIcon,
  CloseIcon,
  ColumnsIcon,
  DownloadIcon,
  SearchIcon,
  UncheckedIcon,
  ViewsIcon,
} from "../shell/icons.tsx";
import { notify } from "../shell/notices.tsx";
import { Link } from "../shell/router.tsx";
import { useCan, useDeclared, useSiteName } from "../shell/site-context.ts";
import { forScreenReaders, useIsNarrow } from "../shell/theme.ts";
import { fullLabelOf } from "../text/fields.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { type ListState, useViews } from "./list-state.ts";

interface ToolbarProps {
  readonly resource: ResourceInfo;
  readonly list: ListState;
  /** Undefined until it's known which records match the search. */
  readonly page: RecordsResponse | undefined;
}

/** The row above a list. Its height doesn't change when records are selected. */
const rowStyle = {
  minHeight: 40,
  mt: 2,
  mb: 1.5,
  alignItems: "center",
  flexWrap: { xs: "wrap", md: "nowrap" },
} as const;

/** @param selected the actions on selected records, if there are any */
export function Toolbar({ selected, ...props }: ToolbarProps & { readonly selected: ReactNode }) {
  const { resource, list, page } = props;
  const isNarrow = useIsNarrow();
  const exported = [[translate("record.view_all", { name: resource.plural }), {}] as const];
  const { search } = list.query;
  if (search !== "" && page?.total)
    exported.unshift([translate("record.export_found", { count: toNumber(page.total) }), { search }]);
  const menus = (
    <>
      <ViewsMenu resource={resource} list={list} />
      <ColumnsMenu resource={resource} list={list} />
      {!selected && <ExportMenu resource={resource} list={list} choices={exported} />}
    </>
  );
  return (
    <Stack direction="row" useFlexGap spacing={1} sx={rowStyle}>
      <Typography
        variant="h6"
        component="h1"
        sx={isNarrow && selected ? forScreenReaders : { mr: 1, whiteSpace: "nowrap", flexShrink: 0 }}
      >
        {capitalize(resource.plural)}
      </Typography>
      {!isNarrow && <Search list={list} />}
      {selected || (
        <>
          <Count {...props} />
          <Box sx={{ flexGrow: 1 }} />
          {!isNarrow && menus}
          <NewButton resource={resource} list={list} />
        </>
      )}
      {isNarrow && (
        <>
          <Search list={list} />
          <SortChoice resource={resource} list={list} />
          {menus}
        </>
      )}
    </Stack>
  );
}

function NewButton({ resource: { singular, path }, list }: Pick<ToolbarProps, "resource" | "list">) {
  const siteName = useSiteName();
  const isNarrow = useIsNarrow();
  const text = translate("record.new", { name: singular });
  if (!useCan("records")) return null;
  return (
    <Button
      component={Link}
      to={`/${siteName}/${path}/create${list.address}`}
      variant="contained"
      data-shortcut="new"
      startIcon={isNarrow ? undefined : <AddIcon />}
      aria-label={text}
      sx={{ whiteSpace: "nowrap", flexShrink: 0, ...(isNarrow ? iconStyle : {}) }}
    >
      {isNarrow ? <AddIcon /> : text}
    </Button>
  );
}

/** A button with only an icon, on a phone. */
const iconStyle = { minWidth: 44, px: 1 };

/** The number of all records, and of those that match the search. */
function Count({ resource, list, page }: ToolbarProps) {
  const isNarrow = useIsNarrow();
  const isSearched = list.query.search !== "";
  const { total = 0, size = 0 } = page ?? {};
  const name = isNarrow && isSearched ? "" : size === 1 ? resource.singular : resource.plural;
  const key = isSearched ? "record.count_found" : "record.count";
  const text = page && translate(key, { count: toNumber(total), all: toNumber(size), name });
  return (
    <Typography
      role="status"
      color="textSecondary"
      sx={{ whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums", minWidth: { md: 104 } }}
    >
      {text}
    </Typography>
  );
}

/** Milliseconds after the last key press until the search goes into the address. Browsers limit how often an address may change. */
const searchDelayMs = 150;

function Search({ list }: Pick<ToolbarProps, "list">) {
  const { maxSearchLength } = useDeclared();
  const { query, setSearch } = list;
  const [text, setText] = useState(query.search);
  const inAddress = useRef(query.search);
  // Another search in the address replaces the text, for example after Back, but not one that was typed here.
  useEffect(() => {
    if (query.search !== inAddress.current) setText(query.search);
    inAddress.current = query.search;
  }, [query.search]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: setSearch is a new function at each rendering
  useEffect(() => {
    if (text === inAddress.current) return;
    const timer = setTimeout(() => {
      inAddress.current = text;
      setSearch(text);
    }, searchDelayMs);
    return () => clearTimeout(timer);
  }, [text]);
  const clear = (
    <InputAdornment position="end">
      <IconButton size="small" edge="end" aria-label={translate("record.clear")} onClick={() => setText("")}>
        <CloseIcon fontSize="small" />
      </IconButton>
    </InputAdornment>
  );
  const icon = (
    <InputAdornment position="start">
      <SearchIcon fontSize="small" />
    </InputAdornment>
  );
  return (
    <TextField
      name="q"
      margin="none"
      value={text}
      placeholder={translate("record.search")}
      onChange={({ target: { value } }) => setText(value)}
      sx={{ width: { xs: "100%", sm: 280 }, flexShrink: { xs: 0, sm: 1 }, minWidth: { sm: 160 } }}
      slotProps={{
        input: { startAdornment: icon, endAdornment: text === "" ? null : clear },
        htmlInput: { maxLength: maxSearchLength, "aria-label": translate("record.search"), autoComplete: "off" },
      }}
    />
  );
}

interface MenuButtonProps {
  readonly text: string;
  readonly icon: ReactNode;
  readonly children: (close: () => void) => ReactNode;
}

function MenuButton({ text, icon, children }: MenuButtonProps) {
  const { button, menu, close } = useMenu();
  const isNarrow = useIsNarrow();
  return (
    <>
      <Button
        color="inherit"
        size="small"
        startIcon={isNarrow ? undefined : icon}
        aria-label={text}
        sx={{ flexShrink: 0, ...(isNarrow ? iconStyle : {}) }}
        {...button}
      >
        {isNarrow ? icon : text}
      </Button>
      <Menu {...menu}>{children(close)}</Menu>
    </>
  );
}

interface ExportMenuProps extends Pick<ToolbarProps, "resource" | "list"> {
  /** Texts, with the parameters that select the records. */
  readonly choices: readonly (readonly [text: string, parameters: Readonly<Record<string, string>>])[];
}

/** Downloads records in the order of the list. */
export function ExportMenu({ resource, list, choices }: ExportMenuProps) {
  const siteName = useSiteName();
  const { by, isDescending } = list.query;
  const addressOf = (parameters: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams({ sort: by, order: isDescending ? "desc" : "asc", ...parameters });
    // Encoded, the commas between 1,000 long IDs could take more than a request may have.
    return `/operator${sitePath(siteName, `/records/${resource.path}/export?${query}`)}`.replaceAll("%2C", ",");
  };
  return (
    <MenuButton text={translate("record.export")} icon={<DownloadIcon />}>
      {(close) =>
        choices.flatMap(([what, parameters]) =>
          (["xlsx", "csv"] as const).map((format) => (
            <MenuItem
              key={`${what} ${format}`}
              dense
              component="a"
              href={addressOf({ ...parameters, format })}
              download
              onClick={close}
            >
              {translate(`record.export_${format}`, { what })}
            </MenuItem>
          )),
        )
      }
    </MenuButton>
  );
}

function ColumnsMenu({ resource, list }: Pick<ToolbarProps, "resource" | "list">) {
  const { columns } = list;
  const toggle = (path: string) =>
    list.showColumns(columns.includes(path) ? columns.filter((one) => one !== path) : [...columns, path]);
  return (
    <MenuButton text={translate("record.columns")} icon={<ColumnsIcon />}>
      {() =>
        resource.fields.map(({ path }) => (
          <MenuItem
            key={path}
            dense
            role="menuitemcheckbox"
            aria-checked={columns.includes(path)}
            onClick={() => toggle(path)}
          >
            <ListItemIcon>
              {columns.includes(path) ? <CheckedIcon fontSize="small" /> : <UncheckedIcon fontSize="small" />}
            </ListItemIcon>
            {fullLabelOf(path)}
          </MenuItem>
        ))
      }
    </MenuButton>
  );
}

/** What the headings of a table do, for a phone. */
function SortChoice({ resource, list }: Pick<ToolbarProps, "resource" | "list">) {
  const { by, isDescending } = list.query;
  const options = ["ID", ...resource.fields.map(({ path }) => path)].flatMap((path) => [
    [path, `${fullLabelOf(path)} ↑`] as const,
    [`-${path}`, `${fullLabelOf(path)} ↓`] as const,
  ]);
  return (
    <Choice
      isNative
      label={translate("list.sort")}
      value={isDescending ? `-${by}` : by}
      options={options}
      onChange={(value) => list.sortBy(value.replace(/^-/, ""), value.startsWith("-"))}
      sx={{ m: 0, flex: 1, minWidth: 0 }}
    />
  );
}

function ViewsMenu({ resource, list }: Pick<ToolbarProps, "resource" | "list">) {
  const { views, save, remove } = useViews(resource);
  const [isNaming, setNaming] = useState(false);
  const shown = views.find(({ address }) => address === list.address);
  function removeShown() {
    if (!shown) return;
    remove(shown.name);
    notify(translate("record.view_removed", { name: shown.name }));
  }
  return (
    <>
      <MenuButton text={shown ? showInvisible(shown.name) : translate("record.views")} icon={<ViewsIcon />}>
        {(close) => {
          const then = (act: () => void) => () => {
            close();
            act();
          };
          return [
            <MenuItem key="all" dense selected={list.address === ""} onClick={then(() => list.show(""))}>
              {translate("record.view_all", { name: resource.plural })}
            </MenuItem>,
            ...views.map(({ name, address }) => (
              <MenuItem
                key={`view ${name}`}
                dense
                selected={address === list.address}
                onClick={then(() => list.show(address))}
              >
                {showInvisible(name)}
              </MenuItem>
            )),
            <Divider key="line" />,
            <MenuItem key="save" dense disabled={list.address === ""} onClick={then(() => setNaming(true))}>
              {translate("record.view_save")}
            </MenuItem>,
            shown && (
              <MenuItem key="remove" dense onClick={then(removeShown)}>
                {translate("record.view_remove", { name: shown.name })}
              </MenuItem>
            ),
          ];
        }}
      </MenuButton>
      {isNaming && (
        <NameDialog onSave={(name) => save({ name, address: list.address })} onClose={() => setNaming(false)} />
      )}
    </>
  );
}

const maxNameLength = 60;

function NameDialog({ onSave, onClose }: { readonly onSave: (name: string) => void; readonly onClose: () => void }) {
  const [name, setName] = useState("");
  return (
    <ActionDialog
      title={translate("record.view_save")}
      action={translate("general.save")}
      isDisabled={name.trim() === ""}
      isEdited={name !== ""}
      onConfirm={async () => onSave(name.trim())}
      onClose={onClose}
    >
      <TextInput
        autoFocus
        label={translate("record.view_name")}
        helperText={translate("record.view_explain")}
        value={name}
        onChange={setName}
        input={{ maxLength: maxNameLength }}
      />
    </ActionDialog>
  );
}
