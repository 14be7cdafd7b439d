import { Link, Stack } from "@mui/material";
import type { RaRecord } from "react-admin";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { labelOf } from "../api/declarations.ts";
import { visible } from "../text/visible.ts";
import { textAt } from "./columns.ts";

interface ContactLinksProps {
  readonly record: RaRecord;
  readonly resource: ResourceInfo;
}

/** Links to write to a record's e-mail address, and to call its telephone numbers. */
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
          {visible(text)}
        </Link>
      ))}
    </Stack>
  );
}
