// Whether a component is still shown when a request that it has sent is answered.

import { useEffect, useRef } from "react";

/** Returns a function that tells whether the component is shown now. */
export function useShown(): () => boolean {
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return () => isShown.current;
}
