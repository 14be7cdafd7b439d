// A value that changes at each key press, for a request that waits until a person stops typing.

import { useEffect, useState } from "react";

/** Returns the value after it has stayed the same for `milliseconds`; until then the previous value. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}
