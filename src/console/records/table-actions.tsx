// The buttons above a list of records: import, columns, and a new record.

import AddIcon from "@mui/icons-material/Add";
import CheckedIcon from "@mui/icons-material/CheckBox";
import UncheckedIcon from "@mui/icons-material/CheckBoxOutlineBlank";
import ImportIcon from "@mui/icons-material/ImportExport";
import ColumnsIcon from "@mui/icons-material/ViewWeek";
import { Box, Button, ListItemIcon, Menu, MenuItem, Stack, Typography } from "@mui/material";
import { useState } from "react";
import { useListContext } from "react-admin";
import { Link } from "react-router-dom";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useSiteName } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { capitalized } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { useHiddenColumns } from "./columns.ts";
import { columnLabel } from "./known-fields.tsx";

/** The buttons above a list of records. */
export function TableActions({ resource }: { readonly resource: ResourceInfo }) {
  const { path, singular, plural } = resource;
  const siteName = useSiteName();
  const { total } = useListContext();
  const isNarrow = useIsNarrow();
  return (
    <Stack
      direction="row"
      useFlexGap
      spacing={1}
      sx={{
        minHeight: 48,
        width: { xs: "100%", sm: "auto" },
        alignItems: "center",
        flexWrap: { xs: "wrap", lg: "nowrap" },
        justifyContent: "flex-end",
      }}
    >
      <Typography component="h1" variant="h6">
        {capitalized(plural)}
      </Typography>
      <Box sx={{ flexGrow: 1 }} />
      {!isNarrow && (
        <>
          <Button component={Link} to={`/${siteName}/import?resource=${path}`} size="small" startIcon={<ImportIcon />}>
            {translate("record.import")}
          </Button>
          {total !== 0 && <ColumnsMenu resource={resource} />}
        </>
      )}
      <Button
        component={Link}
        to={`/${siteName}/${path}/create`}
        variant="contained"
        data-shortcut="new"
        startIcon={<AddIcon />}
      >
        {translate("record.new", { name: singular })}
      </Button>
    </Stack>
  );
}

/** A menu that chooses the columns of the table. The menu of react-admin does not work with screen readers, and needs a mouse. */
function ColumnsMenu({ resource }: { readonly resource: ResourceInfo }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [hidden, setHidden] = useHiddenColumns(resource);
  const toggle = (path: string) =>
    setHidden(hidden.includes(path) ? hidden.filter((one) => one !== path) : [...hidden, path]);
  return (
    <>
      <Button
        size="small"
        startIcon={<ColumnsIcon />}
        aria-haspopup="menu"
        aria-expanded={anchor !== null}
        onClick={({ currentTarget }) => setAnchor(currentTarget)}
      >
        {translate("record.columns")}
      </Button>
      <Menu open={anchor !== null} anchorEl={anchor} onClose={() => setAnchor(null)}>
        {resource.fields.map(({ path }) => (
          <MenuItem
            key={path}
            dense
            role="menuitemcheckbox"
            aria-checked={!hidden.includes(path)}
            onClick={() => toggle(path)}
          >
            <ListItemIcon>
              {hidden.includes(path) ? <UncheckedIcon fontSize="small" /> : <CheckedIcon fontSize="small" />}
            </ListItemIcon>
            {columnLabel(path)}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
