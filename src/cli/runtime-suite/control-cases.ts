import { ApiError } from '../../client/failures.ts'
import type { Bench, SuiteSession } from './bench.ts'
import type { SuiteCase } from './case.ts'
import { check, checkSame, NotShown } from './check.ts'
import { checkCompleted, completedRun, rightLog } from './run-cases.ts'

const detailsOf = (event: object): unknown => (event as { stop_details?: { type?: unknown } | null }).stop_details?.type

/** Starts a long run, and waits until it is at work. */
async function atWork(session: SuiteSession, text: string): Promise<string> {
  const promptId = await session.send(text)
  await session.until('the begin of the run', event => event.type === 'session.status_running')
  return promptId
}

async function stops({ client, newSession, prompts }: Bench): Promise<void> {
  const session = await newSession()
  const promptId = await atWork(session, prompts.long)
  await client.sessions.interrupt({ params: { session_id: session.id } })
  const end = await session.untilEnd(promptId)
  await rightLog(session)
  if (end.type === 'session.status_idle' && detailsOf(end) !== 'interrupted') {
    throw new NotShown('the run ended before it was stopped; give a longer prompt')
  }
  check(end.type === 'session.status_idle', `a run that was stopped ended in ${end.type}`)
  await completedRun(session, prompts.plain)
}

async function steers({ client, newSession, prompts }: Bench): Promise<void> {
  const session = await newSession()
  const first = await atWork(session, prompts.long)
  const second = await session.send(prompts.plain, { mode: 'steer' })
  checkCompleted(await session.untilEnd(first))
  await session.until('the end of both prompts', ({ type }) => type === 'session.status_idle')
  const { data } = await client.sessions.prompts({ params: { session_id: session.id } })
  const joined = data.find(({ id }) => id === second)
  const log = await rightLog(session)
  const ownRun = log.some(event => event.type === 'session.status_running' && event['prompt_id'] === second)
  if (ownRun) throw new NotShown('the turn ended before the second prompt came; give a longer prompt')
  checkSame(joined?.state, 'done', 'the prompt that joined the turn is not done')
}

async function refusesToSteer({ client, newSession, prompts, model }: Bench): Promise<void> {
  const session = await newSession()
  const parts = [{ type: 'text' as const, text: prompts.plain }]
  const body = { model: { modelID: model ?? 'any' }, parts, mode: 'steer' as const }
  try {
    await client.sessions.promptAsync({ params: { session_id: session.id }, body })
  } catch (error) {
    check(error instanceof ApiError && error.status === 400, `it was refused with ${String(error)}`)
    return check(error.message.includes('steer'), `the refusal does not name the flag: ${error.message}`)
  }
  check(false, 'a prompt with mode "steer" was accepted')
}

async function deletes({ client, newSession, prompts }: Bench): Promise<void> {
  const session = await newSession()
  await completedRun(session, prompts.plain)
  const params = { session_id: session.id }
  await client.sessions.managedRemove({ params })
  const log = await rightLog(session)
  checkSame(log.at(-1)?.type, 'session.deleted', 'the last event is another')
  await client.sessions.managedRemove({ params })
  checkSame(await session.log(), log, 'a second deletion changed the log')
  await session.until('the end of the stream', ({ type }) => type === 'session.deleted')
  checkSame((await client.sessions.managedGet({ params })).sandbox_status, 'dead', 'the sandbox is still there')
  const refused = await session.send(prompts.plain).catch((error: unknown) => error)
  check(refused instanceof ApiError && refused.status === 404, 'a deleted session takes prompts')
}

async function deletesWhileBusy({ client, newSession, prompts }: Bench): Promise<void> {
  const session = await newSession()
  await atWork(session, prompts.long)
  await client.sessions.managedRemove({ params: { session_id: session.id } })
  const log = await rightLog(session)
  checkSame(log.at(-1)?.type, 'session.deleted', 'the last event is another')
}

/** Cases of what a client can do to a session. */
export const controlCases: readonly SuiteCase[] = [
  {
    id: 'interrupt',
    shows: 'a run can be stopped, and the session goes on',
    flag: 'interrupt',
    check: stops,
  },
  {
    id: 'steer',
    shows: 'a prompt can join the running turn',
    flag: 'steer',
    check: steers,
    refusal: { shows: 'a prompt that would join the turn is refused with 400', check: refusesToSteer },
  },
  { id: 'delete', shows: 'a deletion is final, and can be repeated', check: deletes },
  { id: 'delete-busy', shows: 'a session at work can be deleted', check: deletesWhileBusy },
]
