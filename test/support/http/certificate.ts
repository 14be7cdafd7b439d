// Makes certificates (RFC 5280) during the test, so that the repository has none.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

interface Authority {
  readonly cert: string;
  /** Issues a certificate for these names. */
  issue(names: readonly string[], addresses?: readonly number[][], now?: number): Certificate;
}

/** @param addresses IPv4 addresses it's valid for, besides the name `localhost` */
export function makeCertificate(now = Date.now(), addresses: readonly number[][] = [[127, 0, 0, 1]]): Certificate {
  const keys = generateKeys();
  return certificate("localhost", keys, { name: "localhost", keys }, alternatives(["localhost"], addresses), now);
}

/** An authority that no system trusts. */
export function makeAuthority(): Authority {
  const keys = generateKeys();
  const issuer = { name: "Authority of a test", keys };
  const isAuthority = sequence(oid(0x55, 0x1d, 0x13), der(0x04, sequence(der(0x01, Buffer.from([255])))));
  return {
    cert: certificate(issuer.name, keys, issuer, isAuthority, Date.now()).cert,
    issue: (names, addresses = [], now = Date.now()) =>
      certificate("receiver", generateKeys(), issuer, alternatives(names, addresses), now),
  };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function generateKeys(): Keys {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

/** The extension with a server's names and addresses. */
function alternatives(names: readonly string[], addresses: readonly number[][]): Buffer {
  const values = [
    ...names.map((name) => der(0x82, Buffer.from(name))),
    ...addresses.map((address) => der(0x87, Buffer.from(address))),
  ];
  return sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(...values)));
}

/** Valid for a day before and after `now`. */
function certificate(
  subject: string,
  { publicKey, privateKey }: Keys,
  issuer: { readonly name: string; readonly keys: Keys },
  extension: Buffer,
  now: number,
): Certificate {
  const algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const day = 86_400_000;
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    commonName(issuer.name),
    sequence(time(now - day), time(now + day)),
    commonName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign("sha256", content, issuer.keys.privateKey);
  const whole = sequence(content, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return { cert: pem(whole), key: privateKey.export({ type: "pkcs8", format: "pem" }) as string };
}

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function time(at: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
