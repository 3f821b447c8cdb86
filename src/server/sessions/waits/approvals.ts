import type { Pool, PoolClient } from 'pg'
import type { Approval, ApprovalState } from '../../../contract/approvals.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import type { ApprovalStore } from './approval-store.ts'

/** What a person says to a tool call. */
export interface Verdict {
  /** The id of the event that asks, or the runtime's id of the call. */
  readonly id: string
  readonly result: 'allow' | 'deny'
  /** For the model, when it is denied. */
  readonly message?: string | undefined
  /** Of the arguments that the person saw. */
  readonly digest?: string | undefined
}

interface Deps {
  readonly pool: Pool
  readonly store: ApprovalStore
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly eventLog: EventLog
  readonly wakeUps: Pick<WakeUps, 'send'>
}

interface ListFilter {
  readonly sessionId: string | undefined
  readonly state: ApprovalState | undefined
}

/** The rules of tool calls that ask: each is answered once, by somebody who may see its session. */
export type Approvals = ReturnType<typeof createApprovals>

export function createApprovals({ pool, store, sessions, eventLog, wakeUps }: Deps) {
  /** Inside a transaction that has locked the session; pushes what is to be told to `told`. */
  async function decideWithin(
    client: PoolClient,
    sessionId: string,
    { verdict, caller, told }: { verdict: Verdict; caller: Caller; told: Appended[] },
  ): Promise<string> {
    const { id, result, message, digest } = verdict
    const asked = await store.find(client, sessionId, id)
    if (!asked) throw notFound('approval', id)
    if (digest !== undefined && digest !== asked.digest) {
      throw new AppError('conflict', `digest is not that of approval ${asked.id}; read it again and look at its input`)
    }
    const state = result === 'allow' ? 'allowed' : 'denied'
    const said = { state, message: message ?? null, by: caller.principal } as const
    if (!(await store.decide(client, asked.id, said))) {
      throw new AppError('conflict', `approval ${asked.id} is ${asked.state}; only a pending one can be decided`)
    }
    const event = {
      type: 'user.tool_confirmation',
      tool_use_id: asked.id,
      result,
      ...(message !== undefined && { deny_message: message }),
    }
    told.push(await eventLog.appendByCaller(client, sessionId, [event]))
    await sessions.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    return asked.id
  }

  return {
    decideWithin,

    /** Closes the open questions of a session that ends, inside a transaction that has locked it. */
    closeWithin: (client: PoolClient, sessionId: string): Promise<void> => store.close(client, sessionId),

    /** Answers the question of that id, wherever its session runs; the record as it is then. */
    async decide(verdict: Verdict, caller: Caller): Promise<Approval> {
      const sessionId = await store.sessionOf(verdict.id, caller.ownerScope)
      if (sessionId === undefined) throw notFound('approval', verdict.id)
      const told: Appended[] = []
      const decided = await transaction(pool, async client => {
        await sessions.lock(client, sessionId)
        const id = await decideWithin(client, sessionId, { verdict, caller, told })
        return store.find(client, sessionId, id)
      })
      for (const appended of told) eventLog.tell(appended)
      if (!decided) throw new Error(`approval ${verdict.id} is not there right after it was decided`)
      return decided
    },

    list: (
      { sessionId, state }: ListFilter,
      caller: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<Approval[]> =>
      store.list({ owner: caller.ownerScope, sessionId, state, cursor: page.after, limit: page.limit }),
  }
}
