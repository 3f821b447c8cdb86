import type { Client } from '../client/client.ts'
import { ApiError } from '../client/failures.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { dim, type Out, type Piece } from './out.ts'
import { plainLine } from './plain-text.ts'
import { cutToWidth } from './text-width.ts'

/** A part of the status; undefined when the key may not read it. */
interface Status {
  readonly url: string
  readonly ready: boolean
  readonly not_ready: string | null
  readonly running_sessions: number | null
  readonly calls_per_minute: number | null
  readonly waiting_approvals: number | null
  readonly today: {
    readonly requests: number
    readonly failed_requests: number
    readonly cost_usd: string | null
  } | null
  readonly failed_sessions: readonly { readonly id: string; readonly title: string }[] | null
  readonly freezes: number | null
}

const maxShown = 5
/** Pages of the service have at most so many rows; more are shown as `200+`. */
const maxCounted = 200

/** `status`: prints readiness, work in progress, spend today and failures on one screen. Exit code 1 unless ready. */
export async function showStatus(client: Client, out: Out): Promise<ExitCode> {
  const status = await statusOf(client)
  out.data(status)
  print(status, out)
  return status.ready ? exitCodes.ok : exitCodes.failed
}

async function statusOf(client: Client): Promise<Status> {
  const notReady = await client.system.ready().then(
    () => null,
    (error: unknown) => (error instanceof ApiError ? error.message : Promise.reject(error)),
  )
  const [running, approvals, usage, failed, freezes] = await Promise.all([
    allowed(client.controls.running({ query: { limit: 1 } })),
    allowed(client.approvals.list({ query: { limit: maxCounted, state: 'pending' } })),
    allowed(client.usage.report({ query: { from: today(), group_by: 'outcome' } })),
    allowed(client.sessions.summaries({ query: { limit: maxShown, status: 'error', from: today() } })),
    allowed(client.controls.freezes({ query: { limit: maxCounted } })),
  ])
  const totals = usage?.totals
  return {
    url: client.baseUrl,
    ready: notReady === null,
    not_ready: notReady,
    running_sessions: running?.running_sessions ?? null,
    calls_per_minute: running?.calls_per_minute ?? null,
    waiting_approvals: approvals?.approvals.length ?? null,
    today: totals
      ? { requests: totals.requests, failed_requests: totals.failed_requests, cost_usd: totals.cost_usd }
      : null,
    failed_sessions: failed?.sessions.map(({ id, title }) => ({ id, title })) ?? null,
    freezes: freezes?.freezes.length ?? null,
  }
}

/** Start of this day in UTC, the default time zone of reports. */
const today = (): string => new Date().toISOString().slice(0, 10)

/** Returns undefined when the key lacks permission, or when the service is not ready to answer. */
const allowed = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (error instanceof ApiError && (error.status === 403 || error.status === 503)) return undefined
    throw error
  })

const counted = (count: number | null): string =>
  count === null ? 'unknown' : count >= maxCounted ? `${maxCounted}+` : String(count)

function print(status: Status, out: Out): void {
  const line = (name: string, value: Piece | string) => {
    const { text, tone } = typeof value === 'string' ? { text: value, tone: 'plain' as const } : value
    out.line(dim(name.padEnd(labelWidth)), { text: cutToWidth(text, (out.columns ?? 1_000) - labelWidth), tone })
  }
  line(
    'service',
    status.ready ? { text: 'ready', tone: 'good' } : { text: `not ready: ${status.not_ready}`, tone: 'bad' },
  )
  line('address', status.url)
  line(
    'running',
    `${counted(status.running_sessions)} sessions, ${status.calls_per_minute ?? 'unknown'} calls a minute`,
  )
  const waiting = status.waiting_approvals ?? 0
  line(
    'approvals',
    waiting === 0 ? counted(status.waiting_approvals) : { text: `${counted(waiting)} waiting`, tone: 'warning' },
  )
  if (status.freezes) line('freezes', { text: counted(status.freezes), tone: 'warning' })
  line('today', todayText(status.today))
  const failures = status.failed_sessions ?? []
  line(
    'failed',
    failures.length === 0
      ? 'no session'
      : { text: `${failures.length === maxShown ? 'at least ' : ''}${failures.length} sessions`, tone: 'bad' },
  )
  for (const { id, title } of failures) line('', `${id}  ${plainLine(title, 60)}`)
}

const labelWidth = 11

function todayText(today: Status['today']): string {
  if (today === null) return 'unknown'
  const { requests, failed_requests, cost_usd } = today
  const cost = cost_usd === null ? (requests === 0 ? '$0' : 'unknown cost') : `$${Number(cost_usd).toFixed(2)}`
  return `${cost}, ${requests} calls, ${failed_requests} failed`
}
