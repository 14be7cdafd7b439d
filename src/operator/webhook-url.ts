import { type AddressPolicy, requireAllowed } from "../webhooks/addresses.ts";

/** The normal form of a URL. A name that has no address now may be saved: each delivery resolves it again. @throws Refusal `bad-request` */
export async function checkWebhookUrl(
  text: string,
  policy: AddressPolicy,
): Promise<{ href: string; isResolved: boolean }> {
  let isResolved = true;
  const lookup = (name: string) =>
    policy.lookup(name).catch(() => {
      isResolved = false;
      return [];
    });
  const { url } = await requireAllowed(text, { ...policy, lookup });
  return { href: url.href, isResolved };
}
