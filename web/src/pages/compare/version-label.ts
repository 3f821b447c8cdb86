import { plainText } from '../../parts/safe-text.tsx'

/** `Version 3 · shorter answers`, for options of a field. */
export const versionLabel = (version: number, note: string | null): string =>
  note === null ? `Version ${version}` : plainText(`Version ${version} · ${note}`)
