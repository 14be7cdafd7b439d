// The console: a page for the people who run the shops. It is an application of react-admin over the API at `/operator` (admin/action-routes.ts).
// app.tsx decides what is shown, records/ makes lists and forms of the declarations of the resources, and texts.ts has every text.

import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

// The content security policy allows the style elements with this nonce only.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
const cache = createCache({ key: "sf", nonce });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <CacheProvider value={cache}>
      <App />
    </CacheProvider>
  </StrictMode>,
);
