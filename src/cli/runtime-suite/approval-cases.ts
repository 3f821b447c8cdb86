import { askedBy, type SessionEvent } from '../../contract/events.ts'
import type { Bench, SuiteSession } from './bench.ts'
import { endsPrompt } from './bench.ts'
import type { SuiteCase } from './case.ts'
import { check, checkSame, NotShown } from './check.ts'
import { checkCompleted, rightLog } from './run-cases.ts'

/** Answers every question of a run until that ends; the ids of what was asked. */
async function answered(bench: Bench, session: SuiteSession, result: 'allow' | 'deny'): Promise<Set<string>> {
  const promptId = await session.send(bench.prompts.tool)
  const asked = new Set<string>()
  const isNews = (event: SessionEvent) => endsPrompt(event, promptId) || askedBy(event).some(id => !asked.has(id))
  for (;;) {
    const event = await session.until('a question, or the end of the run', isNews)
    if (endsPrompt(event, promptId)) {
      checkCompleted(event)
      return asked
    }
    for (const id of askedBy(event).filter(id => !asked.has(id))) {
      asked.add(id)
      const body = { result, ...(result === 'deny' && { message: 'Not now. Say that you may not.' }) }
      await bench.client.approvals.decide({ params: { approval_id: id }, body })
    }
  }
}

const decides =
  (result: 'allow' | 'deny') =>
  async (bench: Bench): Promise<void> => {
    const session = await bench.newSession({ agent_id: await bench.newAskingAgent() })
    const asked = await answered(bench, session, result)
    const log = await rightLog(session)
    if (asked.size === 0) {
      const called = log.some(({ type }) => type === 'agent.tool_use')
      check(!called, 'a tool ran without a question, though the agent’s tools all ask')
      throw new NotShown('no tool was called')
    }
    for (const id of asked) {
      const use = log.find(event => event.id === id)
      const outcome = log.find(
        event => event.type === 'agent.tool_result' && event['tool_use_id'] === use?.['tool_use_id'],
      )
      const isError = Boolean(outcome?.['is_error'])
      checkSame(isError, result === 'deny', `${result}: is_error of the result of ${id}`)
      const confirmed = log.filter(event => event.type === 'user.tool_confirmation' && event['tool_use_id'] === id)
      checkSame(
        confirmed.map(event => event['result']),
        [result],
        `what the log says that was decided of ${id}`,
      )
    }
  }

/** Cases of tool calls that ask a person. */
export const approvalCases: readonly SuiteCase[] = [
  {
    id: 'approval-allow',
    shows: 'a call that asks waits, and runs once it is allowed',
    flag: 'approvals',
    check: decides('allow'),
  },
  {
    id: 'approval-deny',
    shows: 'a call that is denied does not run, and the turn goes on',
    flag: 'approvals',
    check: decides('deny'),
  },
]
