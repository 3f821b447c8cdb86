import type { RunSql } from '../db/once.ts'

/** A vault entry that was written, and the key under which work runs that its writer sets up. */
interface WrittenSecret {
  /** Empty for a global entry. */
  readonly owner_id: string
  readonly key: string
  readonly runAsKeyId: string | null
}

/** An entry of the agent's owner comes before a global one of the same name. */
const text = `
  update agents a set run_as_key_id = $3
  where run_as_key_id is distinct from $3
    and $2 in (coalesce(config -> 'webhook' ->> 'secret_key', 'WEBHOOK_' || id || '_SECRET'),
               config -> 'webhook' -> 'signature' ->> 'secret_key')
    and (owner_id = $1 or $1 = '' and not exists (
      select from vault_entries v where v.owner_id = a.owner_id and v.key = $2))`

/** Table `agents`: whoever knows the secret of a webhook triggers it, so its last writer answers for what it runs. */
export const recordSecretWriter = async (sql: RunSql, { owner_id, key, runAsKeyId }: WrittenSecret): Promise<void> => {
  await sql(text, [owner_id, key, runAsKeyId])
}
