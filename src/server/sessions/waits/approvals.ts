import type { Pool, PoolClient } from 'pg'
import type { Approval } from '../../../contract/approvals.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import type { ResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import type { RunSession, RuntimeRegistry } from '../../runtimes/runtime.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionRow } from '../session-row.ts'
import type { SessionStore } from '../session-store.ts'
import { type Answerer, mayAnswer } from './approval-policy.ts'
import type { ApprovalFilter, ApprovalStore } from './approval-store.ts'

/** A person's decision on a tool call. */
export interface Verdict {
  /** The id of the event that requests approval, or the runtime's id of the call. */
  readonly id: string
  readonly result: 'allow' | 'deny'
  /** Sent to the model when the call is denied. */
  readonly message?: string | undefined
  /** Digest of the arguments that the person saw. */
  readonly digest?: string | undefined
  /** Arguments that replace those of the model; only when the call is allowed. */
  readonly input?: unknown
}

interface Deps {
  readonly pool: Pool
  readonly store: ApprovalStore
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly eventLog: EventLog
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly resultSchemas: Pick<ResultSchemas, 'mismatch'>
  /** Returns a session as its runtime sees it; undefined for a deleted one. */
  readonly runSession: (sessionId: string) => Promise<RunSession | undefined>
  /** Called with the session of each decision, after its commit. */
  readonly onAnswered: (sessionId: string) => void
}

interface Decide {
  readonly verdict: Verdict
  readonly by: Answerer
  readonly unpublished: Appended[]
}

type ListFilter = Pick<ApprovalFilter, 'sessionId' | 'state'> &
  Partial<Pick<ApprovalFilter, 'agentId' | 'isOpen' | 'order'>>

/** The rules of approvals: each is decided once, by a caller who may see its session and is one of its approvers. */
export type Approvals = ReturnType<typeof createApprovals>

export function createApprovals({ pool, store, sessions, eventLog, wakeUps, ...deps }: Deps) {
  /**
   * Throws `invalid_request` for arguments that the tool or the runtime of the session does not accept. Call it before
   * the transaction of the decision: the schema is checked in another thread.
   */
  async function checkInput(
    { id: sessionId, runtime }: Pick<SessionRow, 'id' | 'runtime'>,
    { id, input, result }: Verdict,
  ) {
    if (input === undefined) return
    if (result === 'deny') throw invalid('input requires result "allow"; remove it, or allow the call')
    const approval = await store.find(pool, sessionId, id)
    if (!approval) throw notFound('approval', id)
    const { inputSchemaOf } = (await deps.runtimes.find(runtime)) ?? {}
    if (!inputSchemaOf) {
      throw invalid(
        `input is not supported by runtime ${runtime}, which runs its tools itself; deny the call with a message instead`,
      )
    }
    const session = await deps.runSession(sessionId)
    const schema = session && (await inputSchemaOf(approval.name, session))
    if (!schema) throw invalid(`input cannot be changed: tool ${approval.name} has no input schema`)
    const problem = await deps.resultSchemas.mismatch(schema, input)
    if (problem !== undefined) throw invalid(`input does not match the schema of tool ${approval.name}: ${problem}`)
  }

  /** Requires `checkInput`, and a transaction that has locked the session; adds its events to `unpublished`. */
  async function decideWithin(
    client: PoolClient,
    sessionId: string,
    { verdict, by, unpublished }: Decide,
  ): Promise<string> {
    const { id, result, message, digest, input } = verdict
    const approval = await store.find(client, sessionId, id)
    if (!approval) throw notFound('approval', id)
    checkAnswer(approval, { by, digest })
    const state = result === 'allow' ? 'allowed' : 'denied'
    const decided_by = by === 'link' ? by : by.principal
    const decision = { state, message: message ?? null, edited_input: input, by: decided_by } as const
    if (!(await store.decide(client, approval.id, decision))) {
      throw new AppError('conflict', `approval ${approval.id} is ${approval.state}; only a pending one can be decided`)
    }
    const event: NewEvent = {
      type: 'user.tool_confirmation',
      tool_use_id: approval.id,
      result,
      ...(message !== undefined && { deny_message: message }),
      ...(input !== undefined && { input }),
      decided_by,
    }
    unpublished.push(await eventLog.appendByCaller(client, sessionId, [event]))
    await sessions.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    return approval.id
  }

  /** Decides an approval of that session in its own transaction. Returns the record after the decision. */
  async function decideIn(session: Pick<SessionRow, 'id' | 'runtime'>, verdict: Verdict, by: Answerer) {
    await checkInput(session, verdict)
    const unpublished: Appended[] = []
    const decided = await transaction(pool, async client => {
      await sessions.lock(client, session.id)
      const id = await decideWithin(client, session.id, { verdict, by, unpublished })
      return store.find(client, session.id, id)
    })
    for (const appended of unpublished) eventLog.publish(appended)
    deps.onAnswered(session.id)
    if (!decided) throw new Error(`approval ${verdict.id} is missing right after its decision (bug)`)
    return decided
  }

  return {
    checkInput,
    decideWithin,
    decideIn,

    /** Closes the pending approvals of an ended session, inside a transaction that has locked it. */
    closeWithin: (client: PoolClient, sessionId: string): Promise<void> => store.close(client, sessionId),

    /** Decides an approval, whichever process runs its session. Returns the record after the decision. */
    async decide(verdict: Verdict, caller: Caller): Promise<Approval> {
      const session = await store.sessionOf(verdict.id, caller.ownerScope)
      if (!session) throw notFound('approval', verdict.id)
      return decideIn(session, verdict, caller)
    },

    list: (
      filter: ListFilter,
      caller: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<Approval[]> =>
      store.list({
        agentId: undefined,
        isOpen: undefined,
        order: 'desc',
        ...filter,
        owner: caller.ownerScope,
        cursor: page.after,
        limit: page.limit,
      }),
  }
}

const notApprover = ({ id, approvers }: Approval): AppError =>
  new AppError(
    'forbidden',
    approvers === null
      ? `approval ${id} cannot be answered by a program of its session`
      : `approval ${id} may only be answered by ${approvers.join(', ')} (config.approvals.approvers of its agent)`,
  )

/** Throws for a caller who is not an approver, and for a digest of other arguments. */
function checkAnswer(approval: Approval, { by, digest }: { by: Answerer; digest: string | undefined }): void {
  if (!mayAnswer(approval.approvers, by)) throw notApprover(approval)
  if (digest === undefined || digest === approval.digest) return
  throw new AppError(
    'conflict',
    `digest does not match approval ${approval.id}; read the approval again and check its input`,
  )
}
