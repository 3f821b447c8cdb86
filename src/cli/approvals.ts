import type { Client } from '../client/client.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

interface Filter extends ListArguments {
  /** True: also decided ones. */
  readonly isWhole: boolean
}

/** `approvals ls`: lists tool calls that wait for approval, newest first. */
export async function listApprovals(client: Client, { limit, cursor, isWhole }: Filter, out: Out): Promise<ExitCode> {
  const query = { limit, ...(cursor !== undefined && { cursor }), ...(!isWhole && { state: 'pending' as const }) }
  const page = await client.approvals.list({ query })
  out.data(page)
  if (page.approvals.length === 0) {
    out.line('No tool call waits for approval.')
    return exitCodes.ok
  }
  const rows = page.approvals.map(({ id, session_id, state, name, input }) => [
    id,
    session_id,
    state,
    plainLine(`${name} ${JSON.stringify(input)}`, 100),
  ])
  printTable(out, ['ID', 'SESSION', 'STATE', 'CALL'], rows)
  if (page.next_cursor !== null) out.note(dim(`More: --cursor ${page.next_cursor}`))
  return exitCodes.ok
}

interface Answer {
  readonly id: string
  readonly result: 'allow' | 'deny'
  /** Shown to the model. */
  readonly message?: string | undefined
  /** Arguments that replace those of the model. */
  readonly input?: unknown
}

/** `approvals allow` and `approvals deny`: decide a pending tool call. */
export async function answerApproval(
  client: Client,
  { id, result, message, input }: Answer,
  out: Out,
): Promise<ExitCode> {
  const body = { result, ...(message !== undefined && { message }), ...(input !== undefined && { input }) }
  const approval = await client.approvals.decide({ params: { approval_id: id }, body })
  out.data(approval)
  const call = plainLine(`${approval.name} ${JSON.stringify(approval.edited_input ?? approval.input)}`, 100)
  out.line({ text: '✓ ', tone: 'good' }, `${approval.state}: ${call}`)
  return exitCodes.ok
}
