import type { Pool, PoolClient } from 'pg'
import type { Approval, ApprovalState } from '../../../contract/approvals.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import type { ApprovalStore } from './approval-store.ts'

/** A person's decision on a tool call. */
export interface Verdict {
  /** The id of the event that requests approval, or the runtime's id of the call. */
  readonly id: string
  readonly result: 'allow' | 'deny'
  /** Sent to the model when the call is denied. */
  readonly message?: string | undefined
  /** Digest of the arguments that the person saw. */
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

/** The rules of approvals: each is decided once, by a caller who may see its session. */
export type Approvals = ReturnType<typeof createApprovals>

export function createApprovals({ pool, store, sessions, eventLog, wakeUps }: Deps) {
  /** Requires a transaction that has locked the session; adds its events to `unpublished`. */
  async function decideWithin(
    client: PoolClient,
    sessionId: string,
    { verdict, caller, unpublished }: { verdict: Verdict; caller: Caller; unpublished: Appended[] },
  ): Promise<string> {
    const { id, result, message, digest } = verdict
    const approval = await store.find(client, sessionId, id)
    if (!approval) throw notFound('approval', id)
    if (digest !== undefined && digest !== approval.digest) {
      throw new AppError(
        'conflict',
        `digest does not match approval ${approval.id}; read the approval again and check its input`,
      )
    }
    const state = result === 'allow' ? 'allowed' : 'denied'
    const decision = { state, message: message ?? null, by: caller.principal } as const
    if (!(await store.decide(client, approval.id, decision))) {
      throw new AppError('conflict', `approval ${approval.id} is ${approval.state}; only a pending one can be decided`)
    }
    const event: NewEvent = {
      type: 'user.tool_confirmation',
      tool_use_id: approval.id,
      result,
      ...(message !== undefined && { deny_message: message }),
    }
    unpublished.push(await eventLog.appendByCaller(client, sessionId, [event]))
    await sessions.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    return approval.id
  }

  return {
    decideWithin,

    /** Closes the pending approvals of an ended session, inside a transaction that has locked it. */
    closeWithin: (client: PoolClient, sessionId: string): Promise<void> => store.close(client, sessionId),

    /** Decides an approval, whichever process runs its session. Returns the record after the decision. */
    async decide(verdict: Verdict, caller: Caller): Promise<Approval> {
      const sessionId = await store.sessionOf(verdict.id, caller.ownerScope)
      if (sessionId === undefined) throw notFound('approval', verdict.id)
      const unpublished: Appended[] = []
      const decided = await transaction(pool, async client => {
        await sessions.lock(client, sessionId)
        const id = await decideWithin(client, sessionId, { verdict, caller, unpublished })
        return store.find(client, sessionId, id)
      })
      for (const appended of unpublished) eventLog.publish(appended)
      if (!decided) throw new Error(`approval ${verdict.id} is missing right after its decision (bug)`)
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
