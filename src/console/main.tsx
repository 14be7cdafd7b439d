// The entry point of the console: a page for operators. It uses the API at `/operator` (admin/action-routes.ts).
// app.tsx is the root component. The folder records/ creates lists and forms from the declarations of the resources. texts.ts has every text.

import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { CssBaseline, ThemeProvider } from "@mui/material";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { useChosenTheme } from "./shell/theme.ts";

// The content security policy allows only style elements with this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
const cache = createCache({ key: "sf", nonce });

function Look({ children }: { readonly children: ReactNode }) {
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
      <Look>
        <App />
      </Look>
    </CacheProvider>
  </StrictMode>,
);
