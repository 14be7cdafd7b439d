// Reads and checks the server's certificate.

import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Config } from "../../config.ts";
import { certificateExpiry } from "../../lib/certificate-expiry.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Certificate } from "../../wire/listen.ts";
import { printMessage } from "../shared/output.ts";

/**
 * Only warns about an expired certificate, because the server can start with it.
 * @param files the paths of the certificate and its key
 * @throws ProblemError `not-found` if a file can't be read, `unavailable` if they aren't a certificate and its key
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
    `${files.cert} and ${files.key} aren't a PEM certificate and its private key: ${fault}`,
  );
}

/** @returns undefined if the configuration has no certificate, or if it's invalid, which goes to stderr */
export function reloadCertificate({ tls }: Config): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    printMessage(`storefront: ${errorMessage(error)}; the server keeps using the previous certificate`);
    return undefined;
  }
}

function reportExpired(file: string, chain: string): void {
  const expiry = certificateExpiry(chain);
  if (expiry === undefined || expiry > Date.now()) return;
  printMessage(
    `storefront: the certificate in ${file} expired on ${new Date(expiry).toISOString()}; clients will reject it`,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ProblemError("not-found", `can't read ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

function describeCertificateFault({ cert, key }: Certificate): string | undefined {
  if (cert.trim() === "" || key.trim() === "") return "one of the files is empty";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
