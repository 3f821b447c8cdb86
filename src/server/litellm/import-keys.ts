import type { KeyImport } from '../keys/import.ts'
import { convertKey } from './imported-key.ts'
import type { ImportFinding } from './report.ts'
import type { LiteLlmTables } from './tables-store.ts'

/** Result of an import of keys. */
export interface KeysReport {
  /** Keys that were created, or would be. */
  readonly created: number
  /** Keys that an earlier import created. */
  readonly unchanged: number
  readonly skipped: number
  readonly findings: readonly ImportFinding[]
}

interface Deps {
  readonly tables: LiteLlmTables
  readonly keys: KeyImport
  /** True: nothing is written. */
  readonly isDryRun: boolean
}

/** Creates a key for each key of LiteLLM. A second run changes nothing. */
export async function importKeys({ tables, keys, isDryRun }: Deps): Promise<KeysReport> {
  const counts = { created: 0, unchanged: 0, skipped: 0 }
  const notes = new Map<string, { readonly finding: ImportFinding; count: number }>()
  const note = (finding: ImportFinding): void => {
    const name = JSON.stringify(finding)
    const known = notes.get(name)
    if (known) known.count++
    else notes.set(name, { finding, count: 1 })
  }
  for await (const row of tables.tokens()) {
    const { key, skipped, remarks } = convertKey(row, new Date())
    for (const [setting, state, detail] of remarks) note({ setting: `keys.${setting}`, state, detail })
    if (skipped !== undefined) note({ setting: 'keys', state: 'unsupported', detail: `a key is left out: ${skipped}` })
    if (!key) counts.skipped++
    else if (isDryRun ? await keys.isImported(key) : !(await keys.add(key))) counts.unchanged++
    else counts.created++
  }
  const counted = [...notes.values()].map(({ finding, count }) => ({
    ...finding,
    detail: `${finding.detail} (${count})`,
  }))
  return { ...counts, findings: [...counted, ...(await modelFindings(tables))] }
}

async function modelFindings(tables: LiteLlmTables): Promise<ImportFinding[]> {
  const names = await tables.models()
  return names.map(name => ({
    setting: `models.${name}`,
    state: 'unsupported',
    detail: 'LiteLLM stores the parameters of this model encrypted in its database',
    next: 'add it to model_list, or with POST /api/models',
  }))
}
