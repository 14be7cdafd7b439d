// The console's look: colours, component shapes, and when a window counts as narrow.

import { createTheme, type Theme, type ThemeOptions, useMediaQuery } from "@mui/material";
import { useMemo } from "react";
import { translate } from "../text/translate.ts";
import { useFrameChoices } from "./frame-choices.ts";

export function useChosenTheme(): Theme {
  const { colours } = useFrameChoices();
  const isDeviceDark = useMediaQuery("(prefers-color-scheme: dark)", { noSsr: true });
  // Paper is white, and browsers don't print backgrounds.
  const isPrinted = useMediaQuery("print", { noSsr: true });
  const isDark = !isPrinted && (colours === "device" ? isDeviceDark : colours === "dark");
  return useMemo(() => createTheme(isDark ? dark : light, { components }), [isDark]);
}

/** In px. The placeholder in the first response uses these too. */
export const barHeight = 48;
export const [wideMenu, narrowMenu] = [220, 56];

const common: ThemeOptions = {
  shape: { borderRadius: 10 },
  typography: {
    fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
    body1: { fontSize: 14, lineHeight: 1.5 },
    body2: { fontSize: 13, lineHeight: 1.5 },
    subtitle1: { fontSize: 15, fontWeight: 600, lineHeight: 1.4 },
    subtitle2: { fontSize: 13, fontWeight: 600 },
    caption: { fontSize: 12 },
    h5: { fontSize: 24, fontWeight: 600, lineHeight: 1.3, letterSpacing: "-0.01em" },
    h6: { fontSize: 20, fontWeight: 600, lineHeight: 1.4, letterSpacing: "-0.01em" },
    button: { fontSize: 13, fontWeight: 500, textTransform: "none" },
  },
};

const light: ThemeOptions = {
  ...common,
  palette: {
    mode: "light",
    primary: { main: "#3451c7" },
    secondary: { main: "#3f3f46" },
    error: { main: "#c02626" },
    warning: { main: "#a04a05" },
    success: { main: "#177245" },
    info: { main: "#3451c7" },
    text: { primary: "#18181b", secondary: "#5f5f68" },
    divider: "#e2e2e7",
    action: { hover: "rgba(24, 24, 27, 0.04)", selected: "rgba(52, 81, 199, 0.09)" },
    background: { default: "#f5f5f8", paper: "#ffffff" },
  },
};

const dark: ThemeOptions = {
  ...common,
  palette: {
    mode: "dark",
    primary: { main: "#9db1ff" },
    secondary: { main: "#d4d4d8" },
    error: { main: "#ff8f8f" },
    warning: { main: "#f3b35c" },
    success: { main: "#5fd39a" },
    info: { main: "#9db1ff" },
    text: { primary: "#ededef", secondary: "#a3a3ad" },
    divider: "#2e2e35",
    action: { hover: "rgba(255, 255, 255, 0.05)", selected: "rgba(157, 177, 255, 0.14)" },
    background: { default: "#111114", paper: "#1a1a1e" },
  },
};

/** Returns the colour of the bar and the menu, slightly off the page's. */
export function quietColour({ palette }: Theme): string {
  return palette.mode === "dark" ? "#0b0b0d" : "#ebebf0";
}

export const lowShadow = "0 1px 2px rgb(0 0 0 / 0.06)";

function raised({ palette }: Theme): string {
  return palette.mode === "dark" ? "#222227" : "#ffffff";
}

const shadow = "0 8px 24px rgb(0 0 0 / 0.14), 0 2px 6px rgb(0 0 0 / 0.08)";

/** Menus and dialogs have a border and a soft shadow. */
const overlay = ({ theme }: { readonly theme: Theme }) => ({
  backgroundColor: raised(theme),
  backgroundImage: "none",
  border: `1px solid ${theme.palette.divider}`,
  boxShadow: shadow,
});

/** Makes controls large enough for fingers. */
export const onTouch = "@media (pointer: coarse)";

const buttons: ThemeOptions["components"] = {
  MuiButtonBase: { defaultProps: { disableRipple: true } },
  MuiButton: {
    defaultProps: { disableElevation: true },
    styleOverrides: {
      root: ({ theme }) => ({
        minWidth: 0,
        minHeight: 32,
        padding: "4px 12px",
        borderRadius: 8,
        whiteSpace: "nowrap",
        "&&": { [onTouch]: { minHeight: 44, minWidth: 44 } },
        "& .MuiButton-startIcon": { marginRight: 6, "& > *": { fontSize: 18 } },
        "&.MuiButton-outlined": {
          borderColor: strongLine(theme),
          boxShadow: lowShadow,
          backgroundColor: theme.palette.background.paper,
          "&:hover": { backgroundImage: `linear-gradient(${theme.palette.action.hover} 0 0)` },
        },
        "&.MuiButton-outlined.MuiButton-colorPrimary": { color: theme.palette.text.primary },
        "&.MuiButton-contained": { boxShadow: `inset 0 1px 0 rgb(255 255 255 / 0.16), ${lowShadow}` },
        "&.MuiButton-text:hover": { backgroundColor: theme.palette.action.hover },
      }),
      sizeSmall: { minHeight: 28, padding: "2px 10px" },
    },
  },
  MuiIconButton: {
    styleOverrides: {
      root: ({ theme }) => ({
        borderRadius: 8,
        "&:hover": { backgroundColor: theme.palette.action.hover },
        "&&": { [onTouch]: { minHeight: 44, minWidth: 44 } },
      }),
    },
  },
  MuiToggleButton: {
    styleOverrides: {
      root: ({ theme }) => ({
        padding: "3px 10px",
        borderRadius: 8,
        color: theme.palette.text.secondary,
        backgroundColor: theme.palette.background.paper,
        "&.Mui-selected": { color: theme.palette.text.primary },
      }),
    },
  },
  MuiTabs: {
    styleOverrides: { root: ({ theme }) => ({ minHeight: 40, borderBottom: `1px solid ${theme.palette.divider}` }) },
  },
  MuiTab: { styleOverrides: { root: { minHeight: 40, minWidth: 0, padding: "8px 12px" } } },
};

/** The border of fields and buttons, with enough contrast to be seen. */
function strongLine({ palette }: Theme): string {
  return palette.mode === "dark" ? "#4a4a53" : "#cbcbd3";
}

const fields: ThemeOptions["components"] = {
  MuiTextField: { defaultProps: { variant: "outlined", margin: "dense", size: "small", fullWidth: true } },
  MuiFormControl: { defaultProps: { variant: "outlined", margin: "dense", size: "small", fullWidth: true } },
  // Labels go above their field, not in its border.
  MuiInputLabel: {
    defaultProps: { shrink: true },
    styleOverrides: {
      root: ({ theme }) => ({
        position: "static",
        transform: "none",
        maxWidth: "none",
        marginBottom: 4,
        fontSize: 13,
        fontWeight: 500,
        lineHeight: 1.4,
        whiteSpace: "normal",
        color: theme.palette.text.primary,
        "&.Mui-focused": { color: theme.palette.text.primary },
        "&.Mui-error": { color: theme.palette.error.main },
      }),
    },
  },
  MuiOutlinedInput: {
    defaultProps: { notched: false },
    styleOverrides: {
      root: ({ theme }) => ({
        borderRadius: 8,
        minHeight: 34,
        backgroundColor: theme.palette.background.paper,
        "& .MuiOutlinedInput-notchedOutline": {
          top: 0,
          borderColor: strongLine(theme),
          "& legend": { display: "none" },
        },
        [onTouch]: { minHeight: 44 },
        "&.MuiInputBase-adornedStart:not(.MuiAutocomplete-inputRoot)": { paddingLeft: 10 },
        "&.MuiInputBase-adornedStart > .MuiInputBase-input": { paddingLeft: 0 },
        // The text area inside already has the padding.
        "&.MuiInputBase-multiline": { padding: 0 },
      }),
      input: { padding: "6px 10px" },
    },
  },
  MuiInputBase: {
    // Phones zoom in on fields whose text is smaller than 16 px.
    styleOverrides: { root: { fontSize: 14, [onTouch]: { fontSize: 16 } } },
  },
  MuiFormHelperText: { styleOverrides: { root: { marginLeft: 0, marginRight: 0 } } },
  MuiInputAdornment: { styleOverrides: { root: { "& .MuiSvgIcon-root": { fontSize: 18 } } } },
  MuiAutocomplete: {
    styleOverrides: {
      inputRoot: { "&.MuiOutlinedInput-root": { paddingTop: 1, paddingBottom: 1 } },
      paper: overlay,
      option: { gap: 10 },
    },
  },
  // MUI puts the label on the element around the checkbox instead of on the checkbox.
  MuiCheckbox: {
    defaultProps: {
      size: "small",
      slotProps: {
        root: { "aria-label": undefined },
        input: (props: object) => ({ "aria-label": (props as { readonly "aria-label"?: string })["aria-label"] }),
      },
    },
  },
  MuiRadio: { defaultProps: { size: "small" } },
};

const surfaces: ThemeOptions["components"] = {
  MuiPaper: { styleOverrides: { root: { backgroundImage: "none" } } },
  MuiCard: { defaultProps: { variant: "outlined" }, styleOverrides: { root: { boxShadow: lowShadow } } },
  MuiPopover: { styleOverrides: { paper: overlay } },
  MuiDialog: { styleOverrides: { paper: (props) => ({ ...overlay(props), borderRadius: 12 }) } },
  MuiDialogTitle: { styleOverrides: { root: { fontSize: 16, fontWeight: 600, padding: "16px 20px 8px" } } },
  MuiDialogContent: { styleOverrides: { root: { "&&&": { padding: "8px 20px" } } } },
  MuiDialogActions: { styleOverrides: { root: { padding: "12px 20px 16px" } } },
  MuiDrawer: {
    styleOverrides: {
      paper: ({ theme }) => ({
        backgroundImage: "none",
        border: 0,
        boxShadow: `0 0 0 1px ${theme.palette.divider}, ${shadow}`,
      }),
    },
  },
  MuiBackdrop: {
    styleOverrides: { root: { "&:not(.MuiBackdrop-invisible)": { backgroundColor: "rgb(0 0 0 / 0.35)" } } },
  },
  MuiMenuItem: {
    styleOverrides: {
      root: {
        minHeight: 34,
        margin: "0 6px",
        padding: "4px 10px",
        borderRadius: 6,
        fontSize: 14,
        [onTouch]: { minHeight: 44 },
      },
    },
  },
  MuiListItemIcon: {
    styleOverrides: { root: { minWidth: 32, color: "inherit", "& .MuiSvgIcon-root": { fontSize: 18 } } },
  },
};

const contents: ThemeOptions["components"] = {
  MuiTableCell: {
    styleOverrides: {
      root: ({ theme }) => ({
        padding: "6px 12px",
        borderColor: theme.palette.divider,
        fontSize: 14,
        fontVariantNumeric: "tabular-nums",
        "&.MuiTableCell-paddingCheckbox": { padding: "0 8px" },
      }),
      sizeSmall: { padding: "4px 12px" },
      head: ({ theme }) => ({ color: theme.palette.text.secondary, fontSize: 12, fontWeight: 600 }),
    },
  },
  MuiChip: {
    defaultProps: { size: "small" },
    // States have a soft colour and no border, after a dot in that colour.
    styleOverrides: {
      root: ({ theme }) => ({
        borderRadius: 14,
        height: 22,
        fontSize: 12,
        fontWeight: 500,
        "&.MuiChip-outlined:not(.MuiChip-clickable)": {
          borderColor: "transparent",
          backgroundColor: "color-mix(in srgb, currentColor 9%, transparent)",
        },
        "&.MuiChip-clickable": { height: 28 },
        "&.MuiChip-outlined.MuiChip-clickable": {
          borderColor: strongLine(theme),
          backgroundColor: theme.palette.background.paper,
          "&:hover": { backgroundImage: `linear-gradient(${theme.palette.action.hover} 0 0)` },
        },
        "&.MuiChip-outlined:not(.MuiChip-clickable, .MuiChip-colorDefault) .MuiChip-label::before": {
          content: '""',
          display: "inline-block",
          width: 6,
          height: 6,
          marginRight: 6,
          borderRadius: "50%",
          verticalAlign: "1px",
          backgroundColor: "currentColor",
        },
      }),
    },
  },
  MuiAlert: {
    styleOverrides: {
      root: { padding: "4px 12px", alignItems: "center", borderRadius: 8 },
      action: { alignItems: "center", padding: "0 0 0 12px", marginRight: 0 },
      // Notices are dark in both themes, and differ only in their icons.
      filled: ({ theme }) => ({
        backgroundColor: theme.palette.mode === "dark" ? "#3a3a41" : "#26262b",
        color: "#ffffff",
        fontWeight: 400,
        "&.MuiAlert-filledError": { backgroundColor: "#a51d1d" },
        "& .MuiAlert-icon": { opacity: 1 },
        "&.MuiAlert-filledSuccess .MuiAlert-icon": { color: "#6ee7a8" },
        "&.MuiAlert-filledWarning .MuiAlert-icon": { color: "#fbc26b" },
        "&.MuiAlert-filledInfo .MuiAlert-icon": { color: "#a9baff" },
      }),
    },
  },
  MuiCircularProgress: { defaultProps: { "aria-label": translate("general.loading") } },
  MuiSkeleton: { defaultProps: { animation: "wave" } },
};

/** Matches the elements around dialogs, which get the focus when a dialog opens. */
const containers = "[role=dialog] *[tabindex='-1'], :is(.MuiPaper-root, .MuiDialog-container)[tabindex='-1']";

/** For forced colours, in which there are no backgrounds or shadows. All of these rules compete with those of components. */
const forcedColours = {
  ".MuiButton-root, .MuiIconButton-root, .MuiAlert-root, .MuiTooltip-tooltip, .MuiDrawer-paper": {
    border: "1px solid !important",
  },
  ".Mui-selected, .Mui-selected *": {
    forcedColorAdjust: "none",
    backgroundColor: "Highlight !important",
    color: "HighlightText !important",
  },
  ".MuiChip-label::before, .MuiLinearProgress-bar": { backgroundColor: "CanvasText !important" },
  ".MuiStepLabel-label.Mui-active": { fontWeight: "700 !important" },
};

/** Prints the page, or what's open over it, from start to end and without what can only be used on a screen. */
const print = {
  "header, nav, div:has(> nav), [data-skip], [role=search], [aria-hidden=true]:has(main), .MuiButton-root, .MuiIconButton-root, .MuiSnackbar-root, .MuiBackdrop-root":
    { display: "none !important" },
  ".MuiModal-root, .MuiDialog-container, .MuiModal-root .MuiPaper-root": {
    position: "static !important",
    width: "100% !important",
    height: "auto !important",
  },
  "html, body, main *, .MuiModal-root, .MuiModal-root *": {
    overflow: "visible !important",
    maxHeight: "none !important",
  },
  "tr, .MuiCard-root": { breakInside: "avoid" },
};

/** Rules for all elements: focus, keys, reduced motion, forced colours and print. */
const baseline: ThemeOptions["components"] = {
  MuiCssBaseline: {
    styleOverrides: ({ palette }) => ({
      // The scroll bar is always there, so that nothing shifts. Links scroll their target to just below the bar.
      html: { overflowY: "scroll", scrollPaddingTop: barHeight + 8, accentColor: palette.primary.main },
      kbd: {
        padding: "0 5px",
        border: `1px solid ${palette.divider}`,
        borderRadius: 4,
        fontFamily: "inherit",
        fontSize: 12,
        color: palette.text.secondary,
      },
      // Outlines the focused element. Fields show focus by their border instead.
      [`:focus-visible:not(input:not([type=checkbox]), textarea, [role=combobox], ${containers})`]: {
        outline: `2px solid ${palette.primary.main}`,
        outlineOffset: "1px",
      },
      "@media (prefers-reduced-motion: reduce)": {
        "*, *::before, *::after": {
          // Even a very short duration would give every element a transition of its inherited colours, one level of the document per frame.
          transition: "none !important",
          animationDuration: "0.01ms !important",
          animationIterationCount: "1 !important",
          scrollBehavior: "auto !important",
        },
      },
      "@media (forced-colors: active)": forcedColours,
      "@media print": print,
    }),
  },
};

const components: ThemeOptions["components"] = { ...buttons, ...fields, ...surfaces, ...contents, ...baseline };

/** Whether the window is narrower than a breakpoint of the theme, by default that of phones. */
export function useIsNarrow(below: "sm" | "md" = "sm"): boolean {
  return useMediaQuery<Theme>((theme) => theme.breakpoints.down(below), { noSsr: true });
}

export const forScreenReaders = {
  position: "absolute",
  width: "1px",
  height: "1px",
  overflow: "hidden",
  clipPath: "inset(50%)",
} as const;
