import type { Caller } from '../http/caller.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Approvals } from '../sessions/waits/approvals.ts'

const pageSize = 200

interface Work {
  readonly sessions: Pick<Sessions, 'list'>
  readonly approvals: Pick<Approvals, 'list'>
}

/** Returns the ids of the caller's sessions that run, are about to run, or wait for approval. */
export async function workingSessions({ sessions, approvals }: Work, caller: Caller): Promise<string[]> {
  const asking = await everyPage(page => approvals.list({ sessionId: undefined, state: 'pending' }, caller, page))
  const ids = asking.map(({ session_id }) => session_id)
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
