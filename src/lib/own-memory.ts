/**
 * A copy of `text`. A part of a longer text would keep all of that in memory. A text that is joined of others gets its own memory when it is first
 * read.
 */
export function withOwnMemory(text: string): string {
  return text.charAt(0) + text.slice(1);
}
