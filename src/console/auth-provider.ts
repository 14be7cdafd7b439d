import type { AuthProvider } from "react-admin";
import type { SessionInfo } from "./api.ts";
import { leave, startAnew } from "./session.ts";

/** The session of react-admin. One that ends is not a reason to leave the page: `callApi` waits until the operator has signed in again. */
export function createAuthProvider({ operator }: SessionInfo): AuthProvider {
  return {
    login: async () => {},
    async logout() {
      await leave(false).catch(() => {});
      startAnew();
    },
    checkAuth: async () => {},
    checkError: async () => {},
    getIdentity: async () => ({ id: operator, fullName: operator }),
    getPermissions: async () => undefined,
  };
}
