// The reference at /docs: Scalar, served by this program, with all features off that send requests to other hosts.

import bundle from "@scalar/api-reference/browser/standalone.js" with { type: "file" };
import { dependencies } from "../../../package.json" with { type: "json" };

/** The path at which Scalar's script is served, and its file. */
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
<noscript>The reference needs JavaScript. <a href="/docs/guide">The guide</a> and <a href="/openapi.json">the OpenAPI document</a> do not.</noscript>
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

/** The script that starts Scalar. It passes the absolute URL of the server, because Scalar would put the document's `/` before the paths unchanged. */
export const referenceScript = `// Scalar treats application/problem+xml as a binary file.
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

/** The Content-Security-Policy of the reference: the browser sends requests to this host only (CSP level 3). */
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
