// A button that opens a menu of actions.

import MoreIcon from "@mui/icons-material/MoreVert";
import { IconButton, Menu, MenuItem } from "@mui/material";
import { useState } from "react";

interface ActionMenuProps {
  /** Name of the button for screen readers, including the object of the actions. */
  readonly label: string;
  readonly actions: readonly {
    readonly name: string;
    readonly text: string;
    readonly isDangerous?: boolean;
    readonly onChoose: () => void;
  }[];
}

/** A button with a menu of rare actions. */
export function ActionMenu({ label, actions }: ActionMenuProps) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <>
      <IconButton
        size="small"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={anchor !== null}
        onClick={({ currentTarget }) => setAnchor(currentTarget)}
      >
        <MoreIcon fontSize="small" />
      </IconButton>
      <Menu open={anchor !== null} anchorEl={anchor} onClose={() => setAnchor(null)}>
        {actions.map(({ name, text, isDangerous, onChoose }) => (
          <MenuItem
            key={name}
            sx={isDangerous ? { color: "error.main" } : {}}
            onClick={() => {
              setAnchor(null);
              onChoose();
            }}
          >
            {text}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
