import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Config } from "../config.ts";
import { certificateExpiry } from "../lib/certificate-expiry.ts";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import type { Certificate } from "../wire/listen.ts";
import { printMessage } from "./common.ts";

/**
 * Reads a certificate and its key. One that has expired is reported on stderr: it can be served, but clients refuse it.
 * @param files paths
 * @throws Refusal `not-found` when a file cannot be read, `unavailable` when they are not a certificate and its key
 */
export function readCertificate(files: Certificate): Certificate {
  const certificate = { cert: readText(files.cert), key: readText(files.key) };
  const fault = faultOf(certificate);
  if (fault === undefined) {
    reportExpired(files.cert, certificate.cert);
    return certificate;
  }
  throw new Refusal(
    "unavailable",
    `${files.cert} and ${files.key} are not a certificate and its key in PEM form (${fault})`,
  );
}

/** Reads the certificate again. Returns undefined if there is none, or if it is invalid, which is reported. */
export function reloadCertificate({ tls }: Config): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    printMessage(`storefront: ${messageOf(error)}; the previous one stays in use`);
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
    throw new Refusal("not-found", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function faultOf({ cert, key }: Certificate): string | undefined {
  if (cert.trim() === "" || key.trim() === "") return "a file is empty";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
