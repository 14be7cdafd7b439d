import { escapeHtml } from "./html.ts";
import { toPage } from "./layout.ts";

/** A problem (RFC 9457) without its faults. */
interface ShownProblem {
  readonly status: number;
  readonly title: string;
  /** Text, with paths and names between backticks. */
  readonly detail: string;
  /** The request's id. */
  readonly instance: string;
  /** The page about this kind of problem. */
  readonly type: string;
}

/** The page for a person whose browser was refused something, such as a page that does not exist. */
export function problemPage({ status, title, detail, instance, type }: ShownProblem): string {
  const sentence = escapeHtml(detail.charAt(0).toUpperCase() + detail.slice(1)).replaceAll(
    /`([^`]*)`/g,
    "<code>$1</code>",
  );
  const content = `<h1>${escapeHtml(title)}</h1>
<p>${sentence}</p>
<p>Go to the <a href="/">start page</a>, the <a href="/docs/guide">guide</a> or the <a href="/docs">reference</a>.</p>
<p>Status <strong>${status}</strong>, <a href="${type}">about this kind of problem</a>. The ID of the request is <code>${escapeHtml(instance)}</code>.</p>`;
  return toPage({ title, content });
}
