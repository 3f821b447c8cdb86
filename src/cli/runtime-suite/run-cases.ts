import { type SessionEvent, textOfContent } from '../../contract/events.ts'
import type { SuiteCase } from './case.ts'
import { check, checkSame, NotShown } from './check.ts'
import type { SuiteContext, SuiteSession } from './context.ts'
import { faultsOf } from './grammar.ts'

const reasonOf = (event: SessionEvent) => event.stop_reason?.type

const textOf = (event: SessionEvent): string => textOfContent(event.content)

/** Sends a prompt and waits for its end; returns the log. Throws unless the run completed and the log is valid. */
export async function completedRun(session: SuiteSession, text: string): Promise<SessionEvent[]> {
  checkCompleted(await session.untilEnd(await session.send(text)))
  return validLog(session)
}

/** Throws unless the run has completed. */
export function checkCompleted(end: SessionEvent): void {
  const { message } = end.error ?? {}
  check(end.type === 'session.status_idle', `run ended with ${end.type}: ${message ?? ''}`)
  check(reasonOf(end) === 'end_turn', `run ended with stop_reason ${JSON.stringify(end.stop_reason)}`)
}

/** Returns the log; throws when it violates the event grammar. */
export async function validLog(session: SuiteSession): Promise<SessionEvent[]> {
  const log = await session.log()
  const faults = faultsOf(log)
  check(faults.length === 0, faults.join('; '))
  return log
}

async function runs({ newSession, prompts }: SuiteContext): Promise<void> {
  const log = await completedRun(await newSession(), prompts.plain)
  const [first, second] = log
  checkSame([first?.type, second?.type], ['user.message', 'session.status_running'], 'first events of the log')
  check(
    log.some(event => event.type === 'agent.message' && textOf(event).trim() !== ''),
    'the log has no agent.message with text',
  )
}

async function usesTools({ newSession, prompts }: SuiteContext): Promise<void> {
  const log = await completedRun(await newSession(), prompts.tool)
  const uses = log.filter(({ type }) => /^agent\.(mcp_)?tool_use$/.test(type))
  if (uses.length === 0) throw new NotShown('no tool was called')
  for (const use of uses) {
    check(typeof use['name'] === 'string' && use['name'] !== '', `event ${use.seq} has no tool name`)
    check(typeof use.input === 'object' && use.input !== null, `event ${use.seq} has no input`)
  }
}

async function keepsConversation({ newSession, prompts, client }: SuiteContext): Promise<void> {
  const session = await newSession()
  await completedRun(session, prompts.plain)
  const before = await client.sessions.get({ params: { session_id: session.id } })
  await completedRun(session, prompts.plain)
  const now = await client.sessions.get({ params: { session_id: session.id } })
  checkSame(now.provider_session_id, before.provider_session_id, 'id of the provider’s session')
  checkSame(now.runtime_agent_ref_id, before.runtime_agent_ref_id, 'id of the provider’s agent')
  checkSame(now.status, 'idle', 'status of the session after its runs')
}

async function keepsOrder({ newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  const queued: string[] = []
  for (let count = 0; count < 3; count++) queued.push(await session.send(prompts.plain))
  for (const promptId of queued) checkCompleted(await session.untilEnd(promptId))
  const begun = (await validLog(session)).filter(({ type }) => type === 'session.status_running')
  const order = [...new Set(begun.map(event => event.prompt_id).filter(id => id !== undefined))]
  checkSame(order, queued, 'order of the prompts')
}

async function failsAndContinues({ newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  const model = 'switchyard/conformance-no-such-model'
  const end = await session.untilEnd(await session.send(prompts.plain, { model }))
  if (end.type === 'session.status_idle') throw new NotShown('runtime replaced the unknown model')
  check(end.type === 'session.error', `a prompt with an unknown model ended with ${end.type}`)
  const { type, message } = end.error
  check(Boolean(type) && Boolean(message?.trim()), 'the error has no type and message')
  await completedRun(session, prompts.plain)
}

/** Cases of runs. */
export const runCases: readonly SuiteCase[] = [
  { id: 'run', shows: 'a prompt runs to its end with a reply and a valid log', check: runs },
  { id: 'tools', shows: 'every tool call has exactly one result', check: usesTools },
  { id: 'second-prompt', shows: 'a second prompt continues the same conversation', check: keepsConversation },
  { id: 'queue', shows: 'three prompts run in the order they were sent', check: keepsOrder },
  {
    id: 'failure',
    shows: 'a prompt that fails is a session.error, and the next one runs',
    flag: 'model_per_prompt',
    check: failsAndContinues,
  },
]
