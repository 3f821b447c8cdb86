import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Target } from '../support/service/send.ts'
import { invariants } from './invariants.ts'
import type { Journal } from './journal.ts'
import type { Observer } from './observer.ts'
import type { Reader } from './readers.ts'
import { sendOnce } from './single-connection.ts'
import type { Upstream } from './upstream.ts'

/** What there is to check a case against. */
export interface Evidence {
  readonly observer: Observer
  readonly journal: Journal
  readonly target: Target
  readonly upstream: Upstream
  readonly readers: readonly Reader[]
  /** Data folder of the service; its workspaces show how often a tool ran. */
  readonly dataDir: string
  /** Everything that its processes wrote. */
  readonly logs: string
}

interface Broken {
  readonly id: string
  readonly claim: string
  readonly rows: readonly unknown[]
}

/** What the check counted, for the table. */
export interface Checked {
  readonly prompts_done: number
  readonly prompts_error: number
  readonly tool_results_unknown: number
}

const shownRows = 5

/** Checks I1 to I8 and I10 once everything is quiet. Rejects with the first rows of each invariant that is broken. */
export async function checkInvariants(evidence: Evidence): Promise<Checked> {
  const logs = await readLogs(evidence)
  const broken: Broken[] = [
    ...(await inDatabase(evidence)),
    ...(await ofPromises(evidence)),
    ...ofReaders(evidence, logs),
    ...ofTools(evidence, logs),
    ...(await ofModelCalls(evidence)),
    ...ofWords(evidence),
  ]
  if (broken.length > 0) throw new Error(broken.map(printed).join('\n'))
  return counts(evidence, logs)
}

const printed = ({ id, claim, rows }: Broken): string => {
  const shown = rows.slice(0, shownRows).map(row => `    ${JSON.stringify(row).slice(0, 1_000)}`)
  return [`${id} is broken (${claim}): ${rows.length} rows`, ...shown].join('\n')
}

const broken = (id: string, claim: string, rows: readonly unknown[]): Broken[] =>
  rows.length === 0 ? [] : [{ id, claim, rows }]

async function inDatabase({ observer }: Evidence): Promise<Broken[]> {
  const found: Broken[] = []
  for (const { id, claim, sql } of invariants) found.push(...broken(id, claim, (await observer.pool.query(sql)).rows))
  return found
}

/** I1, I7: what was acknowledged exists, once. */
async function ofPromises({ observer, journal }: Evidence): Promise<Broken[]> {
  const { rows: sessions } = await observer.pool.query<{ id: string; title: string }>('select id, title from sessions')
  const { rows: prompts } = await observer.pool.query<{ session_id: string; key: string | null; state: string }>(
    `select session_id, substring(parts->0->>'text' from '^p:(\\S+) ') as key, state from prompts`,
  )
  const titles = new Map(sessions.map(({ id, title }) => [id, title]))
  const ofKey = Map.groupBy(prompts, ({ session_id, key }) => `${session_id} ${key}`)
  const lostSessions = journal.sessions.filter(({ id, key }) => titles.get(id) !== key)
  const wrongPrompts = journal.prompts.filter(({ sessionId, key }) => ofKey.get(`${sessionId} ${key}`)?.length !== 1)
  const twice = [...ofKey.values()].filter(found => found.length > 1)
  return [
    ...broken('I1', 'an acknowledged session exists', lostSessions),
    ...broken('I1', 'an acknowledged prompt exists, once', wrongPrompts),
    ...broken('I7', 'a repeated prompt is queued once', twice),
  ]
}

type Logs = ReadonlyMap<string, readonly SessionEvent[]>

async function readLogs({ journal, target }: Evidence): Promise<Logs> {
  const logs = new Map<string, SessionEvent[]>()
  for (const { id } of journal.sessions) logs.set(id, await readLog(target, id))
  return logs
}

/** The whole log of a session as the list route gives it. */
export async function readLog(target: Target, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (let page: string | null = '0'; page !== null; ) {
    const answer = await sendOnce(target, `GET /v1/sessions/${sessionId}/events?limit=500&after=${page}`)
    if (answer.status !== 200) throw new Error(`reading the log of ${sessionId}: ${answer.status} ${answer.text}`)
    const { data, next_page } = answer.json<{ data: SessionEvent[]; next_page: string | null }>()
    events.push(...data)
    page = next_page
  }
  return events
}

/** I3: what a reader collected is what the list states. */
function ofReaders({ readers }: Evidence, logs: Logs): Broken[] {
  const rows = readers.flatMap(({ sessionId, events }) => {
    const log = logs.get(sessionId) ?? []
    const at = log.findIndex((event, place) => JSON.stringify(event) !== JSON.stringify(events[place]))
    if (at < 0 && events.length === log.length) return []
    return [{ sessionId, listed: log.length, read: events.length, first_difference: log[at], instead: events[at] }]
  })
  return broken('I3', 'a reader has the events of the list, byte for byte', rows)
}

/** I6: the lines of `ran.txt` show how often each tool call really ran. */
function ofTools({ dataDir }: Evidence, logs: Logs): Broken[] {
  const rows = [...logs].flatMap(([sessionId, log]) => {
    const file = join(dataDir, 'workspaces', sessionId, 'ran.txt')
    const ran = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    const times = Map.groupBy(ran, key => key)
    const twice = [...times].filter(([, lines]) => lines.length > 1).map(([key]) => ({ sessionId, ran_twice: key }))
    const never = log.filter(
      event => isSuccess(event) && isOfCommand(log, event) && !times.has(keyOfResult(log, event)),
    )
    return [...twice, ...never.map(event => ({ sessionId, never_ran: event }))]
  })
  return broken('I6', 'a tool ran once for a success, and never twice', rows)
}

const isSuccess = (event: SessionEvent): boolean => event.type === 'agent.tool_result' && event.is_error !== true

/** Calls of agents write no line. */
const isOfCommand = (log: readonly SessionEvent[], { tool_use_id }: SessionEvent): boolean =>
  log.some(event => event.type === 'agent.tool_use' && event.tool_use_id === tool_use_id && event.name === 'bash')

function keyOfResult(log: readonly SessionEvent[], result: SessionEvent): string {
  const use = log.find(({ type, tool_use_id }) => type === 'agent.tool_use' && tool_use_id === result.tool_use_id)
  const { command = '' } = (use?.input ?? {}) as { command?: string }
  return /^echo (\S+) /.exec(command)?.[1] ?? ''
}

/** I5, as far as there are prices: no call is booked that the upstream did not see. Rows of a killed process may miss. */
async function ofModelCalls({ observer, upstream }: Evidence): Promise<Broken[]> {
  const { rows } = await observer.pool.query<{ booked: number }>(
    `select coalesce(sum(attempts), 0) as booked from usage where outcome = 'completed'`,
  )
  const booked = rows[0]?.booked ?? 0
  const calls = upstream.record().filter(({ what }) => what === 'call').length
  return broken('I5', 'no model call is booked that was not made', booked > calls ? [{ booked, calls }] : [])
}

/** I10: no answer reveals internals, and no rejection went unhandled. */
function ofWords({ journal, logs }: Evidence): Broken[] {
  const telling = /\bat .+:\d+:\d+|node:internal|\bselect\b.+\bfrom\b|postgres:\/\/|sk-upstream/is
  const leaks = journal.rejections
    .filter(({ text }) => telling.test(text))
    .map(({ status, text }) => ({ status, text }))
  const unhandled = logs.split('\n').filter(line => /unhandled|uncaught|triggerUncaughtException/i.test(line))
  return [
    ...broken('I10', 'no answer holds a stack, SQL or a secret', leaks),
    ...broken('I10', 'no rejection went unhandled', unhandled),
  ]
}

async function counts({ observer }: Evidence, logs: Logs): Promise<Checked> {
  const { rows } = await observer.pool.query<{ done: number; error: number }>(
    `select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'error') as error from prompts`,
  )
  const unknown = [...logs.values()]
    .flat()
    .filter(({ content }) => JSON.stringify(content)?.includes('outcome unknown'))
  return {
    prompts_done: rows[0]?.done ?? 0,
    prompts_error: rows[0]?.error ?? 0,
    tool_results_unknown: unknown.filter(({ type }) => type === 'agent.tool_result').length,
  }
}
