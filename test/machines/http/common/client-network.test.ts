// The client network for which failed authentications are limited (http/common/client-network.ts).

import { expect, test } from "bun:test";
import { networkOf } from "../../../../src/http/common/client-network.ts";

test.each<[string, string | undefined]>([
  ["192.0.2.1", "192.0.2.1"],
  ["192.0.2.1:4711", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["[::ffff:192.0.2.1]:80", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002::", "2001:db8:1:2::/64"],
  ["[2001:DB8:1:2::9]:4711", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["1::", "1:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["unknown", undefined],
  ["", undefined],
  ["_hidden", undefined],
  ["300.0.2.1", undefined],
  ["[::1", undefined],
  ["1.2.3.4]", undefined],
])("the network of %s is %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
