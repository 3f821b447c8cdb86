import type { Caller } from '../http/caller.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Approvals } from '../sessions/waits/approvals.ts'
import type { CustomToolCalls } from '../sessions/waits/custom-tool-calls.ts'

const pageSize = 200

interface Work {
  readonly sessions: Pick<Sessions, 'list'>
  readonly approvals: Pick<Approvals, 'list'>
  readonly customToolCalls: Pick<CustomToolCalls, 'list'>
}

/** Returns the ids of the caller's sessions that run, are about to run, or wait for the answer to a tool call. */
export async function workingSessions(
  { sessions, approvals, customToolCalls }: Work,
  caller: Caller,
): Promise<string[]> {
  const open = { sessionId: undefined, state: 'pending' } as const
  const asking = await everyPage(page => approvals.list(open, caller, page))
  const calling = await everyPage(page => customToolCalls.list(open, caller, page))
  const ids = [...asking, ...calling].map(({ session_id }) => session_id)
  for (const status of ['running', 'pending'] as const) {
    const filter = { agentId: undefined, status, withDeleted: false }
    const rows = await everyPage(page => sessions.list(filter, caller, page))
    // A session that a budget has stopped was reported as idle on the stream.
    ids.push(...rows.filter(({ paused }) => !paused).map(({ id }) => id))
  }
  return [...new Set(ids)]
}

async function everyPage<T extends { readonly id: string }>(
  load: (page: { after: string | undefined; limit: number }) => Promise<T[]>,
): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await load({ after: all.at(-1)?.id, limit: pageSize })
    all.push(...page)
    if (page.length < pageSize) return all
  }
}
