/**
 * Returns `text` without regard to case, for comparison: two texts that differ in case alone become the same text. Each character is folded
 * alone, so a part of a text becomes a part of the folded text. `toLowerCase` alone does neither: it makes `ς` of a capital sigma at the end of
 * a word and `σ` elsewhere, and leaves `ß` apart from `SS`.
 */
export function foldCase(text: string): string {
  // The first step is for letters whose capital has no other capital, such as `ẞ`.
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}
