// The reference at /docs: Scalar, served by this program, with everything switched off that would speak to another host.

import bundle from "@scalar/api-reference/browser/standalone.js" with { type: "file" };
import { dependencies } from "../../../package.json" with { type: "json" };

/** Scalar's program: where it is served, and the file that it is. */
export const scalar = { path: `/docs/assets/scalar-${dependencies["@scalar/api-reference"]}.js`, file: bundle };

/** The page at `/docs`. */
export const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Reference · Storefront</title>
</head>
<body>
<div id="reference"></div>
<noscript>The reference needs JavaScript. <a href="/docs/guide">The guide</a> does not, nor does <a href="/openapi.json">the document</a>.</noscript>
<script src="${scalar.path}"></script>
<script src="/docs/assets/reference.js"></script>
</body>
</html>
`;

const settings = {
  url: "/openapi.json",
  theme: "default",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  authentication: { preferredSecurityScheme: "apiKey" },
  persistAuth: false,
  orderSchemaPropertiesBy: "preserve",
  orderRequiredPropertiesFirst: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  telemetry: false,
  agent: { disabled: true },
};

/** What starts Scalar on the page. The document's own server is `/`, which Scalar would put before the paths as it is. */
export const referenceScript = `// Scalar shows a response as text by its media type, and takes problems in XML for binary files.
const send = window.fetch;
window.fetch = async (...request) => {
  const response = await send(...request);
  if (response.headers.get("Content-Type") !== "application/problem+xml") return response;
  const headers = new Headers(response.headers);
  headers.set("Content-Type", "application/xml");
  return Object.defineProperty(response, "headers", { value: headers });
};
const servers = [{ url: location.origin, description: "This server." }];
Scalar.createApiReference("#reference", { ...${JSON.stringify(settings)}, servers });
`;

/** Holds the browser to this host, whatever Scalar would do (CSP level 3). */
export const referencePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
