import type { Pool, PoolClient } from 'pg'
import { createAudit } from './audit/audit.ts'
import { auditStore } from './audit/store.ts'
import { budgetStore } from './budgets/store.ts'
import type { Config } from './config/config.ts'
import { createKysely, createPool } from './db/connect.ts'
import { sendHintsBy } from './db/hints.ts'
import { createOutgoingHints } from './db/notifications.ts'
import { reasonOf } from './db/reachable.ts'
import { createKeyImport } from './keys/import.ts'
import { keyStore } from './keys/store.ts'
import { type ConvertedConfig, convertConfig } from './litellm/convert-config.ts'
import { importKeys, type KeysReport } from './litellm/import-keys.ts'
import { liteLlmTables } from './litellm/tables-store.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { withStorage } from './rotation.ts'
import { loadServiceSecret } from './secrets/service-secret.ts'

/** Converts the text of LiteLLM's configuration file. */
export const convertLiteLlmConfig = (source: string): ConvertedConfig => convertConfig(source)

interface Inputs {
  readonly config: Config
  readonly log: Log
  /** Address of LiteLLM's database. */
  readonly sourceUrl: string
  readonly isDryRun: boolean
}

/** Imports the keys, budgets and spend of LiteLLM's database. The service may run meanwhile. */
export async function importLiteLlmKeys({ config, log, sourceUrl, isDryRun }: Inputs): Promise<KeysReport> {
  const source = await openSource(sourceUrl)
  try {
    return await withStorage({ config, log }, async ({ pool, keyring }) => {
      if (!keyring)
        throw new AppError(
          'unavailable',
          'no encryption key is given; start the service once, or set SWITCHYARD_ENCRYPTION_KEY',
        )
      const hints = createOutgoingHints(pool)
      sendHintsBy(pool, hints.send)
      const pepper = await loadServiceSecret(pool, keyring, 'pepper of key hashes')
      const keys = createKeyImport({
        pool,
        store: keyStore(pool),
        pepper,
        budgets: budgetStore(pool),
        audit: createAudit(auditStore(createKysely(pool))),
      })
      const report = await importKeys({ tables: liteLlmTables(source), keys, isDryRun })
      await hints.sent()
      return report
    })
  } finally {
    await source.end()
  }
}

/** Opens LiteLLM's database, whose address may name a schema as Prisma's do. */
async function openSource(address: string): Promise<Pool> {
  const url = /^postgres(ql)?:\/\//.test(address) ? URL.parse(address.replace('@/', '@localhost/')) : null
  if (!url) throw new AppError('invalid_request', "the address of LiteLLM's database must start with postgresql://")
  const schema = url.searchParams.get('schema') ?? 'public'
  const pool = createPool({ url: address, max: 1, connectTimeoutMs: 5_000, onLost: () => undefined })
  pool.on('connect', (client: PoolClient) => void setSchema(client, schema))
  try {
    const { rows } = await pool.query<{ found: string | null }>('select to_regclass($1)::text as found', [
      `"${schema.replaceAll('"', '""')}"."LiteLLM_VerificationToken"`,
    ])
    if (rows[0]?.found) return pool
    throw new AppError('not_found', `schema ${schema} of that database has no table of keys of LiteLLM`)
  } catch (error) {
    await pool.end()
    if (error instanceof AppError && error.code === 'not_found') throw error
    throw new AppError('unavailable', `cannot read LiteLLM's database: ${reasonOf(error)}`)
  }
}

/** Read only, so that the import cannot change LiteLLM's data. */
const setSchema = (client: PoolClient, schema: string): Promise<unknown> =>
  client
    .query(`select set_config('search_path', $1, false), set_config('default_transaction_read_only', 'on', false)`, [
      `"${schema.replaceAll('"', '""')}"`,
    ])
    .catch(() => undefined)
