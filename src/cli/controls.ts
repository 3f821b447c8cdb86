import type { Client } from '../client/client.ts'
import type { FreezeWrite, RunningSession, StopRequest } from '../contract/controls.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { agoText } from './format.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

interface RunningArguments extends ListArguments {
  readonly nowMs: number
}

const pageOf = ({ limit, cursor }: ListArguments) => ({ limit, ...(cursor !== undefined && { cursor }) })

/** `running`: lists running sessions and their cost per minute. */
export async function listRunning(client: Client, { nowMs, ...page }: RunningArguments, out: Out): Promise<ExitCode> {
  const answer = await client.controls.running({ query: pageOf(page) })
  out.data(answer)
  const { running_sessions, calls_per_minute } = answer
  out.line(
    `${running_sessions} running sessions; ${calls_per_minute} model calls in the last minute cost ${costText(answer)}`,
  )
  if (answer.sessions.length === 0) return exitCodes.ok
  const rows = answer.sessions.map(session => [
    session.session_id,
    plainLine(session.owner_id, 30),
    session.agent_id || '-',
    session.started_at === null ? '-' : agoText(nowMs - Date.parse(session.started_at)),
    String(session.waiting_prompts),
    costText(session),
    plainLine(session.title, 60),
  ])
  const headings = ['ID', 'OWNER', 'AGENT', 'SINCE', 'WAITING', 'COST/MIN', 'TITLE']
  printTable(out, headings, rows)
  if (answer.next_cursor !== null) out.note(dim(`More: --cursor ${answer.next_cursor}`))
  return exitCodes.ok
}

/** `$0.120`; `-` without calls; `unknown` without a price. */
function costText({
  calls_per_minute,
  cost_per_minute,
}: Pick<RunningSession, 'calls_per_minute' | 'cost_per_minute'>): string {
  if (cost_per_minute !== null) return `$${cost_per_minute.toFixed(3)}`
  return calls_per_minute === 0 ? '-' : 'unknown'
}

/** `stop`: stops runs and cancels waiting prompts. */
export async function stopWork(client: Client, body: StopRequest, out: Out): Promise<ExitCode> {
  const answer = await client.controls.stop({ body })
  out.data(answer)
  const { runs, prompts, sessions } = answer
  const text = `requested the stop of ${runs} runs in ${sessions} sessions; cancelled ${prompts} waiting prompts`
  out.line({ text: '✓ ', tone: 'good' }, text)
  return exitCodes.ok
}

/** `freezes ls`: lists spending freezes. */
export async function listFreezes(client: Client, page: ListArguments, out: Out): Promise<ExitCode> {
  const answer = await client.controls.freezes({ query: pageOf(page) })
  out.data(answer)
  if (answer.freezes.length === 0) {
    out.line('No freezes.')
    return exitCodes.ok
  }
  const rows = answer.freezes.map(freeze => [
    freeze.id,
    freeze.scope,
    plainLine(freeze.scope_id ?? '-', 40),
    freeze.created_at,
    plainLine(freeze.created_by, 40),
    plainLine(freeze.reason ?? '', 80),
  ])
  printTable(out, ['ID', 'SCOPE', 'TARGET', 'SINCE', 'BY', 'REASON'], rows)
  if (answer.next_cursor !== null) out.note(dim(`More: --cursor ${answer.next_cursor}`))
  return exitCodes.ok
}

/** `freezes set`: rejects new model calls and runs until the freeze is lifted. */
export async function setFreeze(client: Client, body: FreezeWrite, out: Out): Promise<ExitCode> {
  const freeze = await client.controls.freeze({ body })
  out.data(freeze)
  const whose =
    freeze.scope === 'all' ? 'all spending' : `spending of ${freeze.scope} ${plainLine(freeze.scope_id ?? '', 200)}`
  out.line({ text: '✓ ', tone: 'good' }, `${whose} is frozen; lift it with: switchyard freezes lift ${freeze.id}`)
  return exitCodes.ok
}

/** `freezes lift`. */
export async function liftFreeze(
  client: Client,
  { freezeId }: { readonly freezeId: string },
  out: Out,
): Promise<ExitCode> {
  await client.controls.unfreeze({ params: { freeze_id: freezeId } })
  out.data({ id: freezeId, lifted: true })
  out.line({ text: '✓ ', tone: 'good' }, `lifted ${freezeId}; waiting prompts continue`)
  return exitCodes.ok
}
