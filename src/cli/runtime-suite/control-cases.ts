import { ApiError } from '../../client/failures.ts'
import type { SuiteCase } from './case.ts'
import { check, checkSame, NotShown } from './check.ts'
import type { SuiteContext, SuiteSession } from './context.ts'
import { checkCompleted, completedRun, validLog } from './run-cases.ts'

const detailsOf = (event: object): unknown => (event as { stop_details?: { type?: unknown } | null }).stop_details?.type

/** Sends a long prompt and waits until it runs. */
async function startLongRun(session: SuiteSession, text: string): Promise<string> {
  const promptId = await session.send(text)
  await session.until('the start of the run', event => event.type === 'session.status_running')
  return promptId
}

async function stops({ client, newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  const promptId = await startLongRun(session, prompts.long)
  await client.sessions.interrupt({ params: { session_id: session.id } })
  const end = await session.untilEnd(promptId)
  await validLog(session)
  if (end.type === 'session.status_idle' && detailsOf(end) !== 'interrupted') {
    throw new NotShown('run ended before it was stopped; use a longer prompt')
  }
  check(end.type === 'session.status_idle', `a stopped run ended with ${end.type}`)
  await completedRun(session, prompts.plain)
}

async function steers({ client, newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  const first = await startLongRun(session, prompts.long)
  const second = await session.send(prompts.plain, { mode: 'steer' })
  checkCompleted(await session.untilEnd(first))
  await session.until('the end of both prompts', ({ type }) => type === 'session.status_idle')
  const { data } = await client.sessions.prompts({ params: { session_id: session.id } })
  const joined = data.find(({ id }) => id === second)
  const log = await validLog(session)
  const ownRun = log.some(event => event.type === 'session.status_running' && event.prompt_id === second)
  if (ownRun) throw new NotShown('turn ended before the second prompt arrived; use a longer prompt')
  checkSame(joined?.state, 'done', 'state of the prompt that joined the turn')
}

async function rejectsSteer({ client, newSession, prompts, model }: SuiteContext): Promise<void> {
  const session = await newSession()
  const parts = [{ type: 'text' as const, text: prompts.plain }]
  const body = { model: { modelID: model ?? 'any' }, parts, mode: 'steer' as const }
  try {
    await client.sessions.promptAsync({ params: { session_id: session.id }, body })
  } catch (error) {
    check(error instanceof ApiError && error.status === 400, `request was rejected with ${String(error)}`)
    return check(error.message.includes('steer'), `error message does not name the flag: ${error.message}`)
  }
  check(false, 'a prompt with mode "steer" was accepted')
}

async function deletes({ client, newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  await completedRun(session, prompts.plain)
  const params = { session_id: session.id }
  await client.sessions.managedRemove({ params })
  const log = await validLog(session)
  checkSame(log.at(-1)?.type, 'session.deleted', 'last event of the log')
  await client.sessions.managedRemove({ params })
  checkSame(await session.log(), log, 'log after a second deletion')
  await session.until('the end of the stream', ({ type }) => type === 'session.deleted')
  checkSame(
    (await client.sessions.managedGet({ params })).sandbox_status,
    'dead',
    'status of the sandbox after the deletion',
  )
  const rejected = await session.send(prompts.plain).catch((error: unknown) => error)
  check(rejected instanceof ApiError && rejected.status === 404, 'a deleted session accepted a prompt')
}

async function deletesWhileBusy({ client, newSession, prompts }: SuiteContext): Promise<void> {
  const session = await newSession()
  await startLongRun(session, prompts.long)
  await client.sessions.managedRemove({ params: { session_id: session.id } })
  const log = await validLog(session)
  checkSame(log.at(-1)?.type, 'session.deleted', 'last event of the log')
}

/** Cases of the control of sessions. */
export const controlCases: readonly SuiteCase[] = [
  {
    id: 'interrupt',
    shows: 'a run can be stopped, and the session continues',
    flag: 'interrupt',
    check: stops,
  },
  {
    id: 'steer',
    shows: 'a prompt can join the running turn',
    flag: 'steer',
    check: steers,
    unsupported: { shows: 'a prompt with mode steer is rejected with 400', check: rejectsSteer },
  },
  { id: 'delete', shows: 'a deletion is final and can be repeated', check: deletes },
  { id: 'delete-busy', shows: 'a running session can be deleted', check: deletesWhileBusy },
]
