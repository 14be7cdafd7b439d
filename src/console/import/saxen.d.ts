// Types for the part we use of saxen, an XML parser without types of its own.

declare module "saxen" {
  export class Parser {
    /**
     * Adds a handler. References in texts and attribute values aren't decoded. An empty element has both an opening and a closing tag.
     * @throws whatever handlers throw
     */
    on(event: "openTag", handler: (name: string, attributes: () => Readonly<Record<string, string>>) => void): this;
    on(event: "closeTag", handler: (name: string) => void): this;
    on(event: "text", handler: (text: string) => void): this;
    on(event: "cdata", handler: (text: string) => void): this;
    on(event: "error", handler: (error: Error) => void): this;
    /** Parses the next part of a document. */
    write(text: string): this;
    end(): this;
  }
}
