// Fields the console knows by name, and shows in their own way if a resource has them: e-mail addresses, telephone numbers and postal addresses.
// Apart from `Name`, everything else in this folder follows from the declarations.

import { Box, Link, Stack } from "@mui/material";
import type { RecordValues } from "../../admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../admin/api/types.ts";
import { fullLabelOf, labelOf, textAt } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";

/** Returns the fields in groups that a table shows by default. */
export function groupedColumns(paths: readonly string[]): string[] {
  return paths.filter((path) => /\.(Town|Country)$/.test(path));
}

/** Returns the width of a field's column in px, wide enough for its heading and typical texts. In a wide window, all columns grow in proportion. */
export function columnWidth({ path, max }: Pick<FieldInfo, "path" | "max">): number {
  const usual = path === "Name" ? 180 : max <= 3 ? 72 : /Email$|Line\d$/.test(path) ? 140 : 110;
  return Math.max(usual, fullLabelOf(path).length * 7.5 + 32);
}

interface ContactLinksProps {
  readonly record: RecordValues;
  readonly resource: ResourceInfo;
}

export function ContactLinks({ record, resource }: ContactLinksProps) {
  const links = resource.fields.flatMap(({ path }) => {
    const text = textAt(record, path);
    const protocol = /(^|\.)Email$/.test(path) ? "mailto" : /^Telephone(\.|$)/.test(path) ? "tel" : undefined;
    return text && protocol ? [{ path, text, href: `${protocol}:${encodeURIComponent(text.replace(/\s/g, ""))}` }] : [];
  });
  if (links.length === 0) return null;
  return (
    <Stack direction="row" sx={{ mt: 1, flexWrap: "wrap", columnGap: 2 }}>
      {links.map(({ path, text, href }) => (
        <Link key={path} href={href} title={labelOf(path)} sx={{ overflowWrap: "anywhere" }}>
          {showInvisible(text)}
        </Link>
      ))}
    </Stack>
  );
}

export function AddressBlock({ record }: { readonly record: RecordValues }) {
  const lines = linesOf(record);
  const { AddressLine1, Town, Postcode, Country } = Object(record.Address);
  const place = [AddressLine1, Town, Postcode, Country].filter(Boolean).join(", ");
  if (lines.length === 0) return null;
  return (
    <Box component="address" sx={{ fontStyle: "normal", mt: 1, whiteSpace: "pre-line", overflowWrap: "anywhere" }}>
      {showInvisible(lines.join("\n"))}
      {place && (
        <Box>
          <Link
            href={`https://www.openstreetmap.org/search?query=${encodeURIComponent(place)}`}
            target="_blank"
            rel="noreferrer"
          >
            {translate("record.map")}
          </Link>
        </Box>
      )}
    </Box>
  );
}

/** Returns the lines of an address in the usual order. */
function linesOf({ Address }: RecordValues): string[] {
  const { Title, Firstname, Surname, AddressLine1, AddressLine2, Town, County, Postcode, Country } = Object(
    Address,
  ) as Record<string, string | undefined>;
  const lines = [
    [Title, Firstname, Surname],
    [AddressLine1],
    [AddressLine2],
    [Postcode && Town ? `${Town} ${Postcode}` : Town || Postcode],
    [County],
    [Country],
  ];
  return lines.map((parts) => parts.filter(Boolean).join(" ")).filter((line) => line !== "");
}
