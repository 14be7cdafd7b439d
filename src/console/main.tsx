// The entry point of the console: a page for the people who run the shops. It uses react-admin, and the API at `/operator` (admin/action-routes.ts).
// app.tsx is the root component. The folder records/ creates lists and forms from the declarations of the resources. texts.ts has every text.

import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

// The content security policy allows only style elements with this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
const cache = createCache({ key: "sf", nonce });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <CacheProvider value={cache}>
      <App />
    </CacheProvider>
  </StrictMode>,
);
