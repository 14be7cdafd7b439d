import { Box, Link } from "@mui/material";
import { type RaRecord, useTranslate } from "react-admin";
import { visible } from "../text/visible.ts";

/** Returns the lines of an address, in the order in which people write them. */
function linesOf({ Address = {} }: RaRecord): string[] {
  const { Title, Firstname, Surname, AddressLine1, AddressLine2, Town, County, Postcode, Country } = Address as Record<
    string,
    string | undefined
  >;
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

/** Shows an address as people write it, with a link to a map. */
export function AddressBlock({ record }: { readonly record: RaRecord }) {
  const translate = useTranslate();
  const lines = linesOf(record);
  const { AddressLine1, Town, Postcode, Country } = record.Address ?? {};
  const place = [AddressLine1, Town, Postcode, Country].filter(Boolean).join(", ");
  if (lines.length === 0) return null;
  return (
    <Box component="address" sx={{ fontStyle: "normal", mt: 1, whiteSpace: "pre-line", overflowWrap: "anywhere" }}>
      {visible(lines.join("\n"))}
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
