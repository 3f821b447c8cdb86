import type { Client } from '../client/client.ts'
import type { FreezeWrite, RunningSession, StopRequest } from '../contract/controls.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { agoText, tableLines } from './format.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'

interface RunningArguments extends ListArguments {
  readonly nowMs: number
}

const pageOf = ({ limit, cursor }: ListArguments) => ({ limit, ...(cursor !== undefined && { cursor }) })

/** `running`: what runs, and what it costs a minute. */
export async function listRunning(client: Client, { nowMs, ...page }: RunningArguments, out: Out): Promise<ExitCode> {
  const answer = await client.controls.running({ query: pageOf(page) })
  out.data(answer)
  const { running_sessions, calls_per_minute } = answer
  out.line(
    `${running_sessions} sessions run; ${calls_per_minute} model calls in the last minute cost ${costText(answer)}`,
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
  const headings = ['ID', 'OWNER', 'AGENT', 'SINCE', 'WAITING', 'A MINUTE', 'TITLE']
  const [heading = '', ...lines] = tableLines(headings, rows)
  out.line(dim(heading))
  for (const line of lines) out.line(line)
  if (answer.next_cursor !== null) out.note(dim(`More: --cursor ${answer.next_cursor}`))
  return exitCodes.ok
}

/** `$0.120`, `-` where nothing was called, `unknown` where no price is known. */
function costText({
  calls_per_minute,
  cost_per_minute,
}: Pick<RunningSession, 'calls_per_minute' | 'cost_per_minute'>): string {
  if (cost_per_minute !== null) return `$${cost_per_minute.toFixed(3)}`
  return calls_per_minute === 0 ? '-' : 'unknown'
}

/** `stop`: ends runs, and cancels what waits behind them. */
export async function stopWork(client: Client, body: StopRequest, out: Out): Promise<ExitCode> {
  const answer = await client.controls.stop({ body })
  out.data(answer)
  const { runs, prompts, sessions } = answer
  const text = `${runs} runs in ${sessions} sessions were asked to stop; ${prompts} waiting prompts were cancelled`
  out.line({ text: '✓ ', tone: 'good' }, text)
  return exitCodes.ok
}

/** `freezes ls`: whose spending is frozen. */
export async function listFreezes(client: Client, page: ListArguments, out: Out): Promise<ExitCode> {
  const answer = await client.controls.freezes({ query: pageOf(page) })
  out.data(answer)
  if (answer.freezes.length === 0) {
    out.line('Nothing is frozen.')
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
  const [heading = '', ...lines] = tableLines(['ID', 'SCOPE', 'WHOSE', 'SINCE', 'BY', 'REASON'], rows)
  out.line(dim(heading))
  for (const line of lines) out.line(line)
  if (answer.next_cursor !== null) out.note(dim(`More: --cursor ${answer.next_cursor}`))
  return exitCodes.ok
}

/** `freezes set`: no new model call and no new run until it is lifted. */
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
  out.line({ text: '✓ ', tone: 'good' }, `${freezeId} was lifted; what waited for it goes on`)
  return exitCodes.ok
}
