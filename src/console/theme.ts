import { defaultDarkTheme, defaultLightTheme, type RaThemeOptions } from "react-admin";
import { texts } from "./texts.ts";

const shape = { borderRadius: 8 };
const typography = {
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  h6: { fontWeight: 600 },
  button: { textTransform: "none" as const, fontWeight: 600 },
};

/** MUI names the element around a checkbox, where screen readers do not look; and a circle that turns not at all. */
const accessible = {
  MuiCheckbox: {
    defaultProps: {
      slotProps: {
        root: { "aria-label": undefined },
        input: (props: object) => ({ "aria-label": (props as { readonly "aria-label"?: string })["aria-label"] }),
      },
    },
  },
  MuiCircularProgress: { defaultProps: { "aria-label": texts.app.loading } },
};

export const lightTheme: RaThemeOptions = {
  ...defaultLightTheme,
  components: { ...defaultLightTheme.components, ...accessible },
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
  components: { ...defaultDarkTheme.components, ...accessible },
  shape,
  typography,
  palette: {
    mode: "dark",
    primary: { main: "#7db7f5" },
    secondary: { main: "#e4e7eb" },
    background: { default: "#15181c", paper: "#1d2126" },
  },
};
