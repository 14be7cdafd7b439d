import CheckedIcon from "@mui/icons-material/CheckBox";
import UncheckedIcon from "@mui/icons-material/CheckBoxOutlineBlank";
import ColumnsIcon from "@mui/icons-material/ViewWeek";
import { Button, ListItemIcon, Menu, MenuItem } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { columnLabel, useHiddenColumns } from "./columns.ts";

/** A menu that chooses the columns of the table. The menu of react-admin does not work with screen readers, and needs a mouse. */
export function ColumnsMenu({ resource }: { readonly resource: ResourceInfo }) {
  const translate = useTranslate();
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
        {translate("ra.action.select_columns")}
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
