import type { AuthProvider } from "react-admin";
import type { SessionInfo } from "../../admin/api/types.ts";
import { reloadWithoutAddress, signOut } from "./session.ts";

/** Creates react-admin's auth provider. It never leaves the page when the session ends, because `callApi` waits until the operator signs in again. */
export function createAuthProvider({ operator }: SessionInfo): AuthProvider {
  return {
    login: async () => {},
    async logout() {
      await signOut(false).catch(() => {});
      reloadWithoutAddress();
    },
    checkAuth: async () => {},
    checkError: async () => {},
    getIdentity: async () => ({ id: operator, fullName: operator }),
    getPermissions: async () => undefined,
  };
}
