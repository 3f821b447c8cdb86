import type { RunSql } from '../db/once.ts'

/** A written vault entry, and the key that agents triggered with it will run under. */
interface WrittenSecret {
  /** Empty for a global entry. */
  readonly owner_id: string
  readonly key: string
  readonly runAsKeyId: string | null
}

/**
 * A global entry counts only if the agent's owner has none of the same name. An agent of a limited key reads it only under the name
 * of the agent itself, as in `webhooks/admission`.
 */
const text = `
  update agents a set run_as_key_id = $3
  where run_as_key_id is distinct from $3
    and $2 in (coalesce(config -> 'webhook' ->> 'secret_key', 'WEBHOOK_' || id || '_SECRET'),
               config -> 'webhook' -> 'signature' ->> 'secret_key')
    and (owner_id = $1 or $1 = '' and (run_as_key_id is null or $2 = 'WEBHOOK_' || id || '_SECRET') and not exists (
      select from vault_entries v where v.owner_id = a.owner_id and v.key = $2))`

/** Makes agents whose webhook uses this secret run under the key of the secret's last writer, who can trigger them. */
export const recordSecretWriter = async (sql: RunSql, { owner_id, key, runAsKeyId }: WrittenSecret): Promise<void> => {
  await sql(text, [owner_id, key, runAsKeyId])
}
