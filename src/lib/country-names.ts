// Finds a country's ISO 3166-1 code by its name, in the languages below. The names come from the runtime's locale data (CLDR).

/** Other names: the official ones of ISO 3166-1, former ones, parts of the United Kingdom, and some that are common in other languages. */
const otherNames = `BN Brunei Darussalam; BO Plurinational State of Bolivia; CD Congo; CD Democratic Republic of the Congo; CG Congo; CG Republic of the Congo;
CI Ivory Coast; CN People's Republic of China; CV Cabo Verde; CZ Czech Republic; CZ Tschechische Republik; CZ République tchèque; CZ Repubblica Ceca;
CZ República Checa; DE Federal Republic of Germany; DE Bundesrepublik Deutschland; FK Falkland Islands (Malvinas); FM Federated States of Micronesia;
GB Britain; GB Great Britain; GB Großbritannien; GB Grande-Bretagne; GB Gran Bretaña; GB Gran Bretagna; GB Groot-Brittannië; GB U.K.; GB England;
GB Scotland; GB Wales; GB Northern Ireland; GB United Kingdom of Great Britain and Northern Ireland; IE Republic of Ireland; IR Islamic Republic of Iran;
KP Democratic People's Republic of Korea; KR Republic of Korea; LA Lao People's Democratic Republic; MD Republic of Moldova; MK Macedonia;
MK Republic of North Macedonia; MM Burma; MO Macau; NL Holland; PS State of Palestine; RU Russian Federation; SK Slovak Republic; SY Syrian Arab Republic;
SZ Swaziland; TL East Timor; TR Turkey; TW Taiwan, Province of China; TZ United Republic of Tanzania; US United States of America; US U.S.A.; US U.S.;
US Vereinigte Staaten von Amerika; US États-Unis d'Amérique; US Estados Unidos de América; US Stati Uniti d'America; VA Holy See; VA Vatican;
VE Bolivarian Republic of Venezuela; VN Viet Nam`;

/** All codes, and XK for Kosovo, which isn't in ISO 3166-1 but widely used. */
export const countryCodes =
  `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR
CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE
IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU
MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO
SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW`.split(
    /\s/,
  );

const languages =
  "ar bg cs da de el es et fi fr ga he hr hu is it ja ko lt lv mt nb nl pl pt ro ru sk sl sv tr uk zh zh-Hant".split(
    " ",
  );

const englishNames = new Intl.DisplayNames(["en"], { type: "region" });
/** English names are usually enough. Reading the others takes 20 ms, once per process. */
const unread = [
  readEnglishNames,
  () => {
    for (const language of languages) readNames(new Intl.DisplayNames([language], { type: "region" }));
  },
];
/** The codes by `keyOf` the name. Empty for a name that means different countries in different languages, such as Kongo. */
const codesByName = new Map<string, string>();

/** In UTF-16 units, also after compatibility characters such as U+FDFA have been decomposed. Longer than any name. */
const maxLength = 80;

/**
 * Returns the code of two letters, and the country's English name. Case, accents, punctuation and the order of words don't matter. Undefined for an
 * unknown or ambiguous name.
 */
export function findCountry(name: string): { readonly code: string; readonly name: string } | undefined {
  if (name.length > maxLength) return undefined;
  const key = keyOf(name);
  while (!codesByName.has(key)) {
    const read = unread.shift();
    if (!read) return undefined;
    read();
  }
  const code = codesByName.get(key);
  return code ? { code, name: englishNames.of(code) ?? code } : undefined;
}

function readEnglishNames(): void {
  for (const line of otherNames.split(/;\s/)) addName(line.slice(3), line.slice(0, 2));
  readNames(new Intl.DisplayNames(["en"], { type: "region", style: "short" }));
  readNames(englishNames);
}

function readNames(names: Intl.DisplayNames): void {
  for (const code of countryCodes) addName(names.of(code) ?? code, code);
}

function addName(name: string, code: string): void {
  const key = keyOf(name);
  const known = codesByName.get(key) ?? code;
  codesByName.set(key, known === code ? code : "");
}

const ignoredWords = new Set(["", "and", "of", "the"]);

/** Sorts the words, because lists of countries often have names such as `Moldova, Republic of`. */
function keyOf(name: string): string {
  const plain = name
    .normalize("NFKD")
    .slice(0, 2 * maxLength)
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ı", "i")
    .replaceAll("ß", "ss");
  const words = plain.split(/[^\p{L}\p{N}]+/u).map((word) => (word === "st" ? "saint" : word));
  return words
    .filter((word) => !ignoredWords.has(word))
    .sort()
    .join(" ");
}
