// Reads and checks the certificate of a server.

import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Config } from "../../config.ts";
import { certificateExpiry } from "../../lib/certificate-expiry.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";

/**
 * Reads a certificate and its key. An expired certificate is reported on stderr, but returned: the server can use it, although clients reject it.
 * @param files the paths of both
 * @throws ProblemError `not-found` if a file cannot be read, `unavailable` if the files are not a certificate and its key
 */
export function readCertificate(files: Certificate): Certificate {
  const certificate = { cert: readText(files.cert), key: readText(files.key) };
  const fault = describeCertificateFault(certificate);
  if (fault === undefined) {
    reportExpired(files.cert, certificate.cert);
    return certificate;
  }
  throw new ProblemError(
    "unavailable",
    `${files.cert} and ${files.key} are not a certificate and its key in PEM form (${fault})`,
  );
}

/** Reads the certificate again. Returns undefined if the configuration has none. If it is invalid, reports that on stderr and returns undefined. */
export function reloadCertificate({ tls }: Config): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    printMessage(`storefront: ${errorMessage(error)}; the previous one stays in use`);
    return undefined;
  }
}

function reportExpired(file: string, chain: string): void {
  const expiry = certificateExpiry(chain);
  if (expiry === undefined || expiry > Date.now()) return;
  printMessage(
    `storefront: the certificate in ${file} expired on ${new Date(expiry).toISOString()}; clients refuse it`,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ProblemError("not-found", `cannot read ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns why a certificate and key cannot be used; undefined if they can. */
function describeCertificateFault({ cert, key }: Certificate): string | undefined {
  if (cert.trim() === "" || key.trim() === "") return "a file is empty";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
