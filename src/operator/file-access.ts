import { reasonOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";

/**
 * The value of `access` to a file whose name means nothing to the client. It may come later.
 * @param fault what an error of the file system means, for the client
 * @throws Refusal `unavailable` for an error, unless it is a Refusal
 */
export function accessing<T>(fault: string, access: () => T): T {
  const refuse = (error: unknown): never => {
    if (error instanceof Refusal) throw error;
    throw new Refusal("unavailable", `${fault}: ${reasonOf(error)}`, { cause: error });
  };
  try {
    const value = access();
    return value instanceof Promise ? (value.catch(refuse) as T) : value;
  } catch (error) {
    return refuse(error);
  }
}
