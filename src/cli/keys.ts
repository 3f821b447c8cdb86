import type { Client } from '../client/client.ts'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../contract/keys.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { agoText } from './format.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

interface ListKeysArguments extends ListArguments {
  readonly owner?: string | undefined
  /** Includes revoked keys. */
  readonly all: boolean
  readonly nowMs: number
}

/** `keys ls`: lists virtual keys, newest first. */
export async function listKeys(client: Client, args: ListKeysArguments, out: Out): Promise<ExitCode> {
  const { limit, cursor, owner, all, nowMs } = args
  const page = await client.keys.list({
    query: {
      limit,
      ...(cursor !== undefined && { cursor }),
      ...(owner !== undefined && { owner_id: owner }),
      ...(all && { include_revoked: true }),
    },
  })
  out.data(page)
  if (page.keys.length === 0) {
    out.line('No virtual keys yet. Create one: switchyard keys create --label <text>')
    return exitCodes.ok
  }
  const rows = page.keys.map(key => [
    key.id,
    `${key.prefix}…${key.last4}`,
    stateOf(key, nowMs),
    key.role,
    plainLine(key.owner_id ?? '-', 30),
    spendText(key),
    key.last_used_at === null ? 'never' : agoText(nowMs - Date.parse(key.last_used_at)),
    plainLine(key.label, 60),
  ])
  const headings = ['ID', 'KEY', 'STATE', 'ROLE', 'OWNER', 'SPENT', 'USED', 'LABEL']
  printTable(out, headings, rows)
  if (page.next_cursor !== null) out.note(dim(`More: --cursor ${page.next_cursor}`))
  return exitCodes.ok
}

function stateOf({ revoked_at, expires_at }: ApiKey, nowMs: number): string {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? 'expired' : 'valid'
}

/** `$1.50 of $20 per 30d`. */
function spendText({ spend, max_budget, budget_duration }: ApiKey): string {
  const spent = `$${spend.toFixed(2)}`
  if (max_budget === null) return spent
  return `${spent} of $${max_budget}${budget_duration === null ? '' : ` per ${budget_duration}`}`
}

/** `keys create`: prints the key to standard output, everything else to standard error. */
export async function createKey(client: Client, { fields }: { readonly fields: ApiKeyWrite }, out: Out) {
  return shown(await client.keys.create({ body: fields }), out)
}

interface RotateArguments {
  readonly keyId: string
  /** How long the old secret stays valid; absent: it ends immediately. */
  readonly grace?: string | undefined
}

/** `keys rotate`: prints the new secret of a key like `create`. */
export async function rotateKey(client: Client, { keyId, grace }: RotateArguments, out: Out): Promise<ExitCode> {
  const body = grace === undefined ? {} : { grace }
  return shown(await client.keys.rotate({ params: { key_id: keyId }, body }), out)
}

function shown(answer: ShownApiKey, out: Out): ExitCode {
  out.data(answer)
  out.line(answer.key)
  out.note(dim(`Key ${answer.id}. Store the key now: it is not shown again.`))
  return exitCodes.ok
}

/** `keys revoke`: revokes a key permanently. */
export async function revokeKey(client: Client, { keyId }: { readonly keyId: string }, out: Out): Promise<ExitCode> {
  await client.keys.remove({ params: { key_id: keyId } })
  out.data({ id: keyId, revoked: true })
  out.line({ text: '✓ ', tone: 'good' }, `revoked ${keyId}`)
  return exitCodes.ok
}
