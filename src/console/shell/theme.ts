// The appearance of the console: light and dark colours, the shape of components, and how narrow the window is.

import { type Theme, useMediaQuery } from "@mui/material";
import { defaultDarkTheme, defaultLightTheme, type RaThemeOptions } from "react-admin";
import { translate } from "../text/translate.ts";

const shape = { borderRadius: 8 };
const typography = {
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  h6: { fontWeight: 600 },
  button: { textTransform: "none" as const, fontWeight: 600 },
};

/** Labels for screen readers that MUI lacks: it labels the element around a checkbox instead of the checkbox, and no progress circle. */
const accessible = {
  MuiCheckbox: {
    defaultProps: {
      slotProps: {
        root: { "aria-label": undefined },
        input: (props: object) => ({ "aria-label": (props as { readonly "aria-label"?: string })["aria-label"] }),
      },
    },
  },
  MuiCircularProgress: { defaultProps: { "aria-label": translate("general.loading") } },
};

/** The appearance of components: inputs with a border, a tinted active menu item, and rules for focus, reduced motion and print. */
const looks: NonNullable<RaThemeOptions["components"]> = {
  MuiTextField: { defaultProps: { variant: "outlined", margin: "dense", size: "small", fullWidth: true } },
  MuiFormControl: { defaultProps: { variant: "outlined", margin: "dense", size: "small", fullWidth: true } },
  MuiCard: { defaultProps: { variant: "outlined" } },
  // Small buttons need little padding, because they stand in a row.
  MuiButton: {
    defaultProps: { disableElevation: true },
    styleOverrides: { sizeSmall: { minWidth: 0, padding: "4px 8px" } },
  },
  MuiDrawer: { styleOverrides: { paper: { backgroundImage: "none" } } },
  MuiTableCell: {
    styleOverrides: {
      root: { "&.MuiTableCell-paddingCheckbox": { padding: "0 8px" } },
      head: ({ theme }: { readonly theme: Theme }) => ({ color: theme.palette.text.secondary, fontWeight: 600 }),
    },
  },
  // On a phone, notifications appear above the buttons of a form, which are at the bottom of the screen.
  MuiSnackbar: {
    styleOverrides: {
      root: ({ theme }: { readonly theme: Theme }) => ({
        "&.MuiSnackbar-anchorOriginBottomLeft": { [theme.breakpoints.down("sm")]: { bottom: 80 } },
      }),
    },
  },
  RaToolbar: { styleOverrides: { root: { backgroundColor: "transparent" } } },
  RaMenuItemLink: {
    styleOverrides: {
      root: ({ theme }: { readonly theme: Theme }) => ({
        margin: "1px 8px",
        borderRadius: 8,
        paddingLeft: 12,
        paddingRight: 8,
        whiteSpace: "normal",
        "& .MuiListItemIcon-root": { minWidth: 36 },
        "&.RaMenuItemLink-active": {
          color: theme.palette.primary.main,
          backgroundColor: theme.palette.action.selected,
          fontWeight: 600,
          "& .MuiListItemIcon-root": { color: theme.palette.primary.main },
        },
      }),
    },
  },
  MuiCssBaseline: {
    styleOverrides: {
      kbd: {
        padding: "1px 6px",
        border: "1px solid",
        borderColor: "color-mix(in srgb, currentColor 35%, transparent)",
        borderRadius: 4,
        fontFamily: "inherit",
        fontSize: "0.8em",
      },
      // An outline for the element with the focus. Fields show the focus by their border.
      ":focus-visible:not(input, textarea, [role=combobox], [role=dialog] *[tabindex='-1'])": {
        outline: "2px solid currentColor",
        outlineOffset: "-2px",
      },
      "@media (prefers-reduced-motion: reduce)": {
        "*, *::before, *::after": {
          // Not a short duration: every element would then have a transition of the colours that it inherits, one level of the document per frame.
          transition: "none !important",
          animationDuration: "0.01ms !important",
          animationIterationCount: "1 !important",
          scrollBehavior: "auto !important",
        },
      },
      "@media print": {
        ".RaAppBar-appBar, .RaSidebar-root, .MuiButton-root, .MuiPagination-root, .RaList-actions": { display: "none" },
        "#main-content": { padding: 0 },
      },
    },
  },
};

export const lightTheme: RaThemeOptions = {
  ...defaultLightTheme,
  components: { ...defaultLightTheme.components, ...accessible, ...looks },
  shape,
  typography,
  palette: {
    mode: "light",
    primary: { main: "#0b5cad" },
    secondary: { main: "#1f2937" },
    warning: { main: "#b45309" },
    background: { default: "#f6f7f9", paper: "#ffffff" },
  },
};

export const darkTheme: RaThemeOptions = {
  ...defaultDarkTheme,
  components: { ...defaultDarkTheme.components, ...accessible, ...looks },
  shape,
  typography,
  palette: {
    mode: "dark",
    primary: { main: "#7db7f5" },
    secondary: { main: "#e4e7eb" },
    error: { main: "#ff8a80" },
    background: { default: "#15181c", paper: "#1d2126" },
  },
};

/** Returns whether the window is narrower than a breakpoint of the theme. The default breakpoint is that of phones. */
export function useIsNarrow(below: "sm" | "md" = "sm"): boolean {
  return useMediaQuery<Theme>((theme) => theme.breakpoints.down(below));
}

/** The style of elements that only screen readers read. */
export const forScreenReaders = {
  position: "absolute",
  width: "1px",
  height: "1px",
  overflow: "hidden",
  clipPath: "inset(50%)",
} as const;
