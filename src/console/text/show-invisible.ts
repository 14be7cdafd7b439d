// Shows invisible characters in texts that other people have typed.

/**
 * Replaces invisible characters that change the direction of text by their code points, such as `[U+202E]`. Otherwise a name could look like
 * another name.
 */
export function showInvisible(text: string): string {
  return text.replace(directionControl, (character) => `[U+${hexOf(character)}]`);
}

const directionControl = /\p{Bidi_Control}/gu;

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
