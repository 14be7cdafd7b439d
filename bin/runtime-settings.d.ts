export const runtimeSettings: Readonly<Record<string, string>>;
