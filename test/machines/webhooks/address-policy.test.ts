// Which URLs and addresses webhooks may have (contract section 12), compared with the IANA special-purpose registries.

import { describe, expect, test } from "bun:test";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { readConfig } from "../../../src/config.ts";
import { toNetwork } from "../../../src/lib/networks.ts";
import { type AddressPolicy, resolveAllowedUrl } from "../../../src/webhooks/address-policy.ts";

/** A policy under which every name has `addresses`. */
function policy(addresses: readonly string[], allow: readonly string[] = [], isLoopbackAllowed = false): AddressPolicy {
  const networks = allow.map((text) => toNetwork(text) as NonNullable<ReturnType<typeof toNetwork>>);
  return { allow: networks, isLoopbackAllowed, lookup: async () => addresses };
}

const anywhere = policy(["93.184.215.14"]);

describe("a name with the address", () => {
  test.each([
    "1.1.1.1",
    "93.184.215.14",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.0.9",
    "192.0.0.10",
    "192.0.1.0",
    "192.31.196.1",
    "192.52.193.1",
    "192.167.255.255",
    "192.169.0.0",
    "192.175.48.1",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00::1",
    "2001:1::1",
    "2001:1::2",
    "2001:1::3",
    "2001:3::1",
    "2001:4:112::1",
    "2001:20::1",
    "2001:30::1",
    "2001:200::1",
    "2620:4f:8000::1",
    "3ffe::1",
    "3fff:1000::1",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
    "64:ff9b::c000:9",
    "2002:101:101::1",
  ])("%s is public", async (address) => {
    expect((await resolveAllowedUrl("https://hooks.example/", policy([address]))).addresses).toEqual([address]);
  });

  test.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.8",
    "192.0.0.11",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::1.1.1.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:1.1.1.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::1.1.1.1",
    "64:ff9b:1:ffff::1",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1::4",
    "2001:2::1",
    "2001:5::1",
    "2001:10::1",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2002:a00:1::1",
    "2002:7f00:1::1",
    "2002:c0a8:1::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "not an address",
    "1.1",
    "0x7f.1",
    "1.1.1.1/x",
    "::1]/",
    "",
  ])("%s is rejected", async (address) => {
    const names = resolveAllowedUrl("https://hooks.example/", policy([address]));
    await expect(names).rejects.toThrow(/hooks\.example has the address/);
  });

  test("rejected if any of several addresses is forbidden", async () => {
    for (const addresses of [
      ["1.1.1.1", "10.0.0.1"],
      ["10.0.0.1", "1.1.1.1"],
      ["1.1.1.1", "2606:4700::1111", "::1"],
    ])
      await expect(resolveAllowedUrl("https://hooks.example/", policy(addresses))).rejects.toThrow(/has the address/);
  });

  test("can't be resolved: another error", async () => {
    const lookup = () => Promise.reject(new Error("ENOTFOUND"));
    const checked = resolveAllowedUrl("https://hooks.example/", { ...anywhere, lookup });
    await expect(checked).rejects.toMatchObject({
      code: "unavailable",
      message: "the hostname hooks.example doesn't resolve",
    });
  });
});

describe("the URL", () => {
  test.each([
    ["https://hooks.example", "https://hooks.example/", "hooks.example"],
    ["https://Hooks.Example./a?b=c", "https://hooks.example/a?b=c", "hooks.example"],
    ["https://hooks.example:8443/x", "https://hooks.example:8443/x", "hooks.example"],
    ["https://hooks.example:443/x", "https://hooks.example/x", "hooks.example"],
    ["HTTPS://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example"],
    ["https://1.1.1.1/", "https://1.1.1.1/", "1.1.1.1"],
    ["https://0x01010101/", "https://1.1.1.1/", "1.1.1.1"],
    ["https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/", "2606:4700::1111"],
    ["https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/", "2606:4700::1111"],
  ])("%s is allowed as %s", async (text, href, host) => {
    const destination = await resolveAllowedUrl(text, anywhere);
    expect([destination.url.href, destination.host]).toEqual([href, host]);
  });

  test.each([
    ["", /use a full URL/],
    ["hooks.example", /use a full URL/],
    ["ftp://hooks.example/", /use a full URL/],
    ["file:///etc/passwd", /use a full URL/],
    ["https:hooks.example", /use a full URL/],
    ["https:///", /use a full URL/],
    ["https://hooks.example:99999/", /use a full URL/],
    ["https://hooks.example:0/", /port 0/],
    ["https://[fe80::1%25eth0]/", /use a full URL/],
    ["https://1.2.3.4.5/", /use a full URL/],
    ["https://hooks.example..", /a dot too many/],
    ["http://hooks.example/", /use https:/],
    ["http://1.1.1.1/", /use https:/],
    ["https://user@hooks.example/", /user name/],
    ["https://user:secret@hooks.example/", /user name/],
    ["https://hooks.example/#here", /fragment/],
    ["https://hooks.example/#", /fragment/],
    [" https://hooks.example/", /remove spaces/],
    ["https://hooks.example/\n", /remove spaces/],
    ["https://hooks.example\\@10.0.0.1/", /backslashes/],
    ["https://ho\u0000oks.example/", /control/],
    [`https://hooks.example/${"a".repeat(2100)}`, /2048 characters or fewer/],
    ["https://10.0.0.1/", /10\.0\.0\.1 isn't public/],
    ["https://012.0.0.1/", /10\.0\.0\.1 isn't public/],
    ["https://0xa.1/", /10\.0\.0\.1 isn't public/],
    ["https://167772161/", /10\.0\.0\.1 isn't public/],
    ["https://192.168.257/", /192\.168\.1\.1 isn't public/],
    ["https://169.254.169.254/latest/meta-data", /isn't public/],
    ["https://①⓪.0.0.1/", /10\.0\.0\.1 isn't public/],
    ["https://[::ffff:10.0.0.1]/", /isn't public/],
    ["https://[::ffff:7f00:1]/", /own machine/],
    ["https://[64:ff9b::7f00:1]/", /own machine/],
    ["https://0/", /0\.0\.0\.0 is the server's own machine/],
    ["https://[::]/", /own machine/],
    ["https://127.0.0.1/", /own machine/],
    ["https://127.1/", /own machine/],
    ["https://2130706433/", /own machine/],
    ["https://0177.0.0.1/", /own machine/],
    ["https://localhost/", /own machine/],
    ["https://LOCALHOST./", /own machine/],
    ["https://[::1]/", /own machine/],
  ])("%j is rejected", async (text, fault) => {
    await expect(resolveAllowedUrl(text, anywhere)).rejects.toThrow(fault);
  });
});

describe("a URL on this machine, where that's allowed", () => {
  test.each([
    ["http://localhost:9/", ["127.0.0.1", "::1"]],
    ["https://localhost./", ["127.0.0.1"]],
    ["http://127.0.0.1/", ["10.0.0.1"]],
    ["http://127.3.2.1/", []],
    ["http://[::1]:80/", []],
  ])("%s is allowed", async (text, addresses) => {
    await resolveAllowedUrl(text, policy(addresses, [], true));
  });

  test.each([
    ["https://hooks.example/", ["127.0.0.1"], /own machine/],
    ["https://app.localhost/", ["127.0.0.1"], /own machine/],
    ["http://app.localhost/", ["127.0.0.1"], /own machine/],
    ["https://app.localhost./", ["1.1.1.1"], /own machine/],
    ["http://[::ffff:127.0.0.1]/", [], /https/],
    ["https://[::ffff:127.0.0.1]/", [], /own machine/],
    ["http://localhost/", ["10.0.0.1"], /isn't the server's own machine/],
    ["http://localhost/", ["1.1.1.1"], /isn't the server's own machine/],
    ["http://0.0.0.0/", [], /https/],
  ])("%s with the addresses %j is rejected", async (text, addresses, fault) => {
    await expect(resolveAllowedUrl(text, policy(addresses, [], true))).rejects.toThrow(fault);
  });
});

describe("--webhook-allow", () => {
  test.each([
    ["10.0.0.0/8", "10.1.2.3"],
    ["10.0.0.0/8", "::ffff:10.1.2.3"],
    ["10.0.0.0/8", "64:ff9b::10.1.2.3"],
    ["169.254.169.254/32", "169.254.169.254"],
    ["fd00::/8", "fd12::1"],
    ["64:ff9b:1::/48", "64:ff9b:1::10.0.0.1"],
    ["0.0.0.0/0", "192.168.0.1"],
    ["::/0", "fe80::1"],
  ])("%s allows %s", async (network, address) => {
    await resolveAllowedUrl("https://hooks.example/", policy([address], [network]));
  });

  test.each([
    ["10.0.0.0/8", "11.0.0.1", "public"],
    ["10.0.0.0/8", "192.168.0.1", "in another network"],
    ["10.1.0.0/16", "10.2.0.1", "in another network"],
    ["0.0.0.0/0", "127.0.0.1", "own machine"],
    ["127.0.0.0/8", "127.0.0.1", "own machine"],
    ["0.0.0.0/0", "0.0.0.0", "own machine"],
    ["::/0", "::1", "own machine"],
    ["::/0", "::", "own machine"],
    ["::/0", "::ffff:127.0.0.1", "own machine"],
    ["::/0", "10.0.0.1", "of another family"],
  ])("%s does not decide about %s, which is %s", async (network, address, why) => {
    const checked = resolveAllowedUrl("https://hooks.example/", policy([address], [network]));
    if (why === "public") await checked;
    else await expect(checked).rejects.toThrow(/has the address/);
  });

  test("doesn't open this machine's addresses, in any form", async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    const forms = own.flatMap(({ address }) => (isIPv4(address) ? [address, `::ffff:${address}`] : [address]));
    const everything = ["0.0.0.0/0", "::/0"];
    for (const address of forms)
      await expect(resolveAllowedUrl("https://hooks.example/", policy([address], everything))).rejects.toThrow(
        `hooks.example has the address ${address}, which is the server's own machine`,
      );
    const literal = resolveAllowedUrl(
      `https://${own.find(({ family }) => family === "IPv4")?.address}/`,
      policy([], everything),
    );
    await expect(literal).rejects.toThrow(/own machine/);
  });

  test("doesn't allow http", async () => {
    const checked = resolveAllowedUrl("http://10.0.0.1/", policy([], ["10.0.0.0/8"]));
    await expect(checked).rejects.toThrow(/https/);
  });

  test.each([
    ["10.0.0.0/8", 1],
    ["10.0.0.0/8,192.168.0.0/16, fd00::/8", 3],
  ])("reads %s", (text, count) => {
    expect(readConfig({ WEBHOOK_ALLOW: text }).webhookAllow).toHaveLength(count);
  });

  test.each([
    "10.0.0.1/8",
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0/8",
    "0x0a.0.0.0/8",
    "fd00::/129",
    "x",
    "10.0.0.0/08",
    ",",
  ])("rejects %s", (text) => {
    expect(() => readConfig({ WEBHOOK_ALLOW: text })).toThrow(/--webhook-allow \(STOREFRONT_WEBHOOK_ALLOW\)/);
  });
});
