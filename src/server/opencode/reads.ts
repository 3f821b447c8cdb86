import type { OpencodeMessage } from '../../contract/sessions.ts'
import type { Caller } from '../http/caller.ts'
import type { Approvals } from '../sessions/approvals.ts'
import type { EventStore } from '../sessions/event-store.ts'
import { opencodeMessages } from '../sessions/opencode-messages.ts'
import type { Sessions } from '../sessions/sessions.ts'

const maxMessageEvents = 10_000
const pageSize = 200

/** The conversation of a session, as the message list gives it. */
export const messagesOf = async (events: Pick<EventStore, 'page'>, sessionId: string): Promise<OpencodeMessage[]> =>
  opencodeMessages(sessionId, await events.page(sessionId, 0, maxMessageEvents))

interface Work {
  readonly sessions: Pick<Sessions, 'list'>
  readonly approvals: Pick<Approvals, 'list'>
}

/** Ids of the caller's sessions that run, that are about to, or whose run waits for a person. */
export async function workingSessions({ sessions, approvals }: Work, caller: Caller): Promise<string[]> {
  const asking = await everyPage(page => approvals.list({ sessionId: undefined, state: 'pending' }, caller, page))
  const ids = asking.map(({ session_id }) => session_id)
  for (const status of ['running', 'pending'] as const) {
    const filter = { agentId: undefined, status, withDeleted: false }
    ids.push(...(await everyPage(page => sessions.list(filter, caller, page))).map(({ id }) => id))
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
