// The console's entry point, a single page for operators. It uses the API at `/operator` (admin/action-routes.ts). app.tsx is the root component,
// records/ builds lists and forms from the resources' declarations, and texts.ts has all texts.

import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { CssBaseline, ThemeProvider } from "@mui/material";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { useChosenTheme } from "./shell/theme.ts";

// The content security policy only allows style elements with this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
const cache = createCache({ key: "sf", nonce });

function Appearance({ children }: { readonly children: ReactNode }) {
  return (
    <ThemeProvider theme={useChosenTheme()}>
      <CssBaseline enableColorScheme />
      {children}
    </ThemeProvider>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <CacheProvider value={cache}>
      <Appearance>
        <App />
      </Appearance>
    </CacheProvider>
  </StrictMode>,
);
