import { awaitedApprovals, type SessionEvent } from '../../contract/events.ts'
import type { SuiteCase } from './case.ts'
import { check, checkSame, NotShown } from './check.ts'
import type { SuiteContext, SuiteSession } from './context.ts'
import { endsPrompt } from './context.ts'
import { checkCompleted, validLog } from './run-cases.ts'

/** Decides every approval of a run until it ends; returns the ids of the approvals. */
async function decidedApprovals(
  context: SuiteContext,
  session: SuiteSession,
  result: 'allow' | 'deny',
): Promise<Set<string>> {
  const promptId = await session.send(context.prompts.tool)
  const requested = new Set<string>()
  const isRelevant = (event: SessionEvent) =>
    endsPrompt(event, promptId) || awaitedApprovals(event).some(id => !requested.has(id))
  for (;;) {
    const event = await session.until('an approval request or the end of the run', isRelevant)
    if (endsPrompt(event, promptId)) {
      checkCompleted(event)
      return requested
    }
    for (const id of awaitedApprovals(event).filter(id => !requested.has(id))) {
      requested.add(id)
      const body = { result, ...(result === 'deny' && { message: 'Not now. Say that you may not.' }) }
      await context.client.approvals.decide({ params: { approval_id: id }, body })
    }
  }
}

const decides =
  (result: 'allow' | 'deny') =>
  async (context: SuiteContext): Promise<void> => {
    const session = await context.newSession({ agent_id: await context.newApprovalAgent() })
    const requested = await decidedApprovals(context, session, result)
    const log = await validLog(session)
    if (requested.size === 0) {
      const called = log.some(({ type }) => type === 'agent.tool_use')
      check(!called, 'a tool ran without approval, although all tools of the agent require it')
      throw new NotShown('no tool was called')
    }
    for (const id of requested) {
      const use = log.find(event => event.id === id)
      const outcome = log.find(event => event.type === 'agent.tool_result' && event.tool_use_id === use?.tool_use_id)
      const isError = Boolean(outcome?.is_error)
      checkSame(isError, result === 'deny', `${result}: is_error of the result of ${id}`)
      const confirmed = log.filter(event => event.type === 'user.tool_confirmation' && event.tool_use_id === id)
      checkSame(
        confirmed.map(event => event.result),
        [result],
        `decision in the log for ${id}`,
      )
    }
  }

/** Cases of tool calls that require approval. */
export const approvalCases: readonly SuiteCase[] = [
  {
    id: 'approval-allow',
    shows: 'a call that requires approval waits, and runs once it is allowed',
    flag: 'approvals',
    check: decides('allow'),
  },
  {
    id: 'approval-deny',
    shows: 'a denied call does not run, and the turn continues',
    flag: 'approvals',
    check: decides('deny'),
  },
]
