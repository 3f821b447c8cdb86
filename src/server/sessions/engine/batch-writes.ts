import { awaitedApprovals, type NewEvent, type SessionEvent } from '../../../contract/events.ts'
import type { BatchParts, RunSession, Runtime } from '../../runtimes/runtime.ts'
import type { Queryable } from '../log/event-store.ts'
import { outcomeChange } from '../queue/outcome-state.ts'
import { approvalPolicyOf } from '../waits/approval-policy.ts'
import type { LeasedSession } from './leases.ts'
import type { ContextDeps } from './run-context.ts'
import type { StepFiles } from './workspace-steps.ts'

/** The run whose batch is stored. */
interface WritingRun {
  readonly leased: LeasedSession
  readonly session: RunSession
  readonly runtime: Runtime
  readonly prompt: { readonly id: string }
}

/**
 * Returns the writes that are committed with a batch: provider ids, the progress of an outcome, calls of custom tools,
 * approvals, and the files of the step.
 */
export function batchWrites(
  {
    sessions,
    prompts,
    approvals,
    customToolCalls,
  }: Pick<ContextDeps, 'sessions' | 'prompts' | 'approvals' | 'customToolCalls'>,
  { leased, session, runtime, prompt }: WritingRun,
  { events, refs, files }: BatchParts & { readonly files: StepFiles },
) {
  const asked = events.flatMap(awaitedApprovals)
  const called = runtime.offersCustomTools ? events.flatMap(customToolUse) : []
  const evaluated = outcomeChange(events)
  if (!refs && asked.length === 0 && called.length === 0 && !evaluated && !files.commit) return undefined
  const { sessionId } = leased
  return async (client: Queryable, stored: readonly SessionEvent[]) => {
    if (refs) await sessions.storeRefs(client, leased, refs)
    if (evaluated) await prompts.setOutcomeState(client, prompt.id, evaluated)
    // A client may answer as soon as it sees the event; the run waits only once its other calls have ended.
    if (called.length > 0) await customToolCalls.open(client, sessionId, called, prompt.id)
    if (asked.length > 0) {
      await approvals.open(client, sessionId, { eventIds: asked, ...approvalPolicyOf(session) })
      await customToolCalls.await(client, sessionId, asked)
    }
    await files.commit?.(client, stored)
  }
}

const customToolUse = ({ type, id }: NewEvent): readonly string[] =>
  type === 'agent.custom_tool_use' && id !== undefined ? [id] : []
