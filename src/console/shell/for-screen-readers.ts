/** The style of elements that only screen readers read. */
export const forScreenReaders = {
  position: "absolute",
  width: "1px",
  height: "1px",
  overflow: "hidden",
  clipPath: "inset(50%)",
} as const;
