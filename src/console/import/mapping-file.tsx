import { Button } from "@mui/material";
import { useRef } from "react";
import { useNotify, useTranslate } from "react-admin";
import type { ImportMapping } from "../../admin/api/types.ts";
import { readMappingFile, saveMappingFile } from "./mappings.ts";

interface MappingFileProps {
  readonly mapping: ImportMapping;
  readonly onLoad: (mapping: ImportMapping) => void;
}

/** Buttons that save the mapping as a file for the command line, and load such a file. */
export function MappingFile({ mapping, onLoad }: MappingFileProps) {
  const translate = useTranslate();
  const notify = useNotify();
  const input = useRef<HTMLInputElement>(null);
  const load = (file: File | null | undefined) => {
    if (file) readMappingFile(file).then(onLoad, () => notify(translate("import.bad_mapping"), { type: "error" }));
  };
  return (
    <>
      <Button onClick={() => saveMappingFile(mapping)}>{translate("import.save_mapping")}</Button>
      <Button onClick={() => input.current?.click()}>{translate("import.load_mapping")}</Button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json"
        aria-label={translate("import.load_mapping")}
        onChange={({ target }) => {
          load(target.files?.item(0));
          target.value = "";
        }}
      />
    </>
  );
}
