// The style and the scripts of the pages. Their paths name their contents, so that caches never have to ask again.

import pageStyle from "../assets/page.css" with { type: "text" };
import pageScript from "../assets/page.js" with { type: "text" };
import tryScript from "../assets/try.js" with { type: "text" };

interface Asset {
  readonly path: string;
  /** `Content-Type`. */
  readonly type: string;
  readonly content: string;
}

const javascript = "text/javascript; charset=utf-8";

export const style = toAsset("page", "css", "text/css; charset=utf-8", pageStyle);
export const script = toAsset("page", "js", javascript, pageScript);
/** The forms of the reference. */
export const forms = toAsset("try", "js", javascript, tryScript);

export const assets: readonly Asset[] = [style, script, forms];

function toAsset(name: string, extension: string, type: string, content: string): Asset {
  const digest = Bun.SHA256.hash(content, "hex").slice(0, 12);
  return { path: `/docs/assets/${name}-${digest}.${extension}`, type, content };
}
