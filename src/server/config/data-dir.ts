import { homedir } from 'node:os'
import { join } from 'node:path'

interface Inputs {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly overrides?: { readonly dataDir?: string }
}

/** Returns the data folder: the option, else `SWITCHYARD_DATA_DIR`, else the default of the user. Gaps: section 2. */
export const dataDirOf = ({ env, overrides = {} }: Inputs): string =>
  overrides.dataDir ?? nonBlank(env['SWITCHYARD_DATA_DIR']) ?? defaultDataDir(env)

function defaultDataDir(env: Inputs['env']): string {
  if (process.getuid?.() === 0) return '/var/lib/switchyard'
  return join(nonBlank(env['HOME']) ?? homedir(), '.local', 'share', 'switchyard')
}

/** Returns undefined for blank text, because shells and compose files pass unset variables as empty ones. */
export const nonBlank = (text: string | undefined): string | undefined => (text?.trim() ? text : undefined)
