// The character entities of HTML that people put into XML, which has only five of them.

/** The marks of letters, by the end of the names of their entities: "eacute" is e with U+0301. */
const marks: Readonly<Record<string, string>> = {
  grave: "\u0300",
  acute: "\u0301",
  circ: "\u0302",
  tilde: "\u0303",
  macr: "\u0304",
  breve: "\u0306",
  dot: "\u0307",
  uml: "\u0308",
  ring: "\u030a",
  dblac: "\u030b",
  caron: "\u030c",
  cedil: "\u0327",
  ogon: "\u0328",
};

/** Names, each with its character at its end: the other entities of HTML 4.01, and those of HTML 5 for ASCII and other letters. */
const list =
  "nbsp\u00a0 iexcl¡ cent¢ pound£ curren¤ yen¥ brvbar¦ sect§ uml¨ copy© COPY© ordfª laquo« not¬ shy\u00ad reg® REG® macr¯ deg° plusmn± sup2² sup3³ " +
  "acute´ microµ para¶ middot· cedil¸ sup1¹ ordmº raquo» frac14¼ frac12½ half½ frac34¾ iquest¿ AEligÆ ETHÐ times× OslashØ THORNÞ szligß aeligæ ethð " +
  "divide÷ oslashø thornþ OEligŒ oeligœ fnofƒ circˆ tilde˜ DstrokĐ dstrokđ HstrokĦ hstrokħ inodotı imathı LstrokŁ LmidotĿ lmidotŀ lstrokł TstrokŦ tstrokŧ odot⊙ tdot\u20db " +
  "AlphaΑ BetaΒ GammaΓ DeltaΔ EpsilonΕ ZetaΖ EtaΗ ThetaΘ IotaΙ KappaΚ LambdaΛ MuΜ NuΝ XiΞ OmicronΟ PiΠ RhoΡ SigmaΣ TauΤ UpsilonΥ PhiΦ ChiΧ PsiΨ OmegaΩ " +
  "alphaα betaβ gammaγ deltaδ epsilonε zetaζ etaη thetaθ iotaι kappaκ lambdaλ muμ nuν xiξ omicronο piπ rhoρ sigmafς sigmaσ tauτ upsilonυ phiφ chiχ psiψ " +
  "omegaω thetasymϑ upsihϒ pivϖ ensp\u2002 emsp\u2003 thinsp\u2009 zwnj\u200c zwj\u200d lrm\u200e rlm\u200f hyphen‐ dash‐ ndash– mdash— lsquo‘ rsquo’ rsquor’ " +
  "sbquo‚ ldquo“ rdquo” rdquor” bdquo„ dagger† Dagger‡ bull• hellip… mldr… permil‰ prime′ Prime″ lsaquo‹ rsaquo› oline‾ frasl⁄ euro€ image\u2111 weierp℘ real\u211c trade™ TRADE™ " +
  "alefsym\u2135 larr← uarr↑ rarr→ darr↓ harr↔ crarr↵ lArr⇐ uArr⇑ rArr⇒ dArr⇓ hArr⇔ forall∀ part∂ exist∃ empty∅ nabla∇ isin∈ notin∉ ni∋ prod∏ sum∑ minus− " +
  "lowast∗ radic√ prop∝ infin∞ ang∠ and∧ or∨ cap∩ cup∪ int∫ there4∴ sim∼ cong≅ asymp≈ ne≠ equiv≡ le≤ ge≥ sub⊂ sup⊃ nsub⊄ sube⊆ supe⊇ oplus⊕ otimes⊗ perp⊥ " +
  "sdot⋅ lceil⌈ rceil⌉ lfloor⌊ rfloor⌋ lang\u27e8 rang\u27e9 loz◊ spades♠ clubs♣ hearts♥ diams♦ check✓ numero№ " +
  "Tab\t NewLine\n excl! num# dollar$ percnt% lpar( rpar) ast* midast* plus+ comma, period. sol/ colon: semi; equals= quest? commat@ " +
  "lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ grave` lcub{ lbrace{ verbar| vert| rcub} rbrace}";

const characters: ReadonlyMap<string, string> = new Map(
  [...list.matchAll(/(\w+)(\W|[^\0-\x7f]) ?/gu)].map(([, name = "", character = ""]) => [name, character]),
);

/** Returns the character of an HTML entity such as "eacute"; undefined for an unknown one. */
export function characterOfEntity(name: string): string | undefined {
  const known = characters.get(name);
  if (known !== undefined) return known;
  const [, letter = "", mark = ""] = /^([A-Za-z])([a-z]+)$/.exec(name) ?? [];
  if (!Object.hasOwn(marks, mark)) return undefined;
  const composed = (letter + marks[mark]).normalize("NFC");
  return composed.length === 1 ? composed : undefined;
}
