/**
 * `text` with the characters that would control a terminal (C0 and C1) or reorder what it shows (Unicode Standard Annex 9)
 * written as `\\u009b`. Names and labels may contain them. JSON text keeps its meaning.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
