// Makes a certificate for shop.example and console.example, and the authority that signs it.

import { join } from "node:path";
import { run } from "./tools.ts";

export interface TestCertificate {
  /** Paths of PEM files. */
  readonly authority: string;
  readonly cert: string;
  readonly key: string;
}

/** @throws if openssl is missing or fails */
export async function makeAuthority(folder: string): Promise<TestCertificate> {
  const file = (name: string) => join(folder, name);
  await Bun.write(file("leaf.ext"), "subjectAltName=DNS:shop.example,DNS:console.example\nbasicConstraints=CA:FALSE\n");
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.pem"),
    "-days",
    "2",
    "-subj",
    "/CN=check",
  );
  openssl("req", ...key, "-keyout", file("key.pem"), "-out", file("leaf.csr"), "-subj", "/CN=shop.example");
  const signer = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-days", "1"];
  openssl("x509", "-req", "-in", file("leaf.csr"), ...signer, "-extfile", file("leaf.ext"), "-out", file("cert.pem"));
  return { authority: file("ca.pem"), cert: file("cert.pem"), key: file("key.pem") };
}

function openssl(...args: string[]): void {
  const { status, stderr } = run(["openssl", ...args]);
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
}
