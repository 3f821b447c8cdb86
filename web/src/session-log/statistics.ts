import { callDurationMs } from './tool-text.ts'
import type { CallState, TextItem, ToolCall, Turn, Usage, View } from './view.ts'

export interface ToolStatistics {
  readonly name: string
  readonly server: string | undefined
  readonly calls: number
  /** Calls that failed or whose outcome is unknown. Denied and expired ones never ran. */
  readonly failures: number
  /** Calls that did not run, or not to their end: denied, expired or stopped. */
  readonly unrun: number
  /** Milliseconds of the calls that ran, without their waits for approval; undefined when none has ended. */
  readonly medianMs: number | undefined
  readonly maxMs: number | undefined
  /** Event of the longest call. */
  readonly maxEventId: string | undefined
}

/** Returns all tool calls of the session, in their order. Calls of called sessions are in their own logs. */
export const callsOf = ({ turns }: Pick<View, 'turns'>): ToolCall[] =>
  turns.flatMap(callsOfTurn).filter(({ threadId }) => threadId === undefined)

/** Returns the tool calls of a turn, with those of called sessions that its log names. */
export const callsOfTurn = ({ groups }: Turn): ToolCall[] =>
  groups.flatMap(({ items }) => items.filter(item => item.kind === 'tool'))

/** Returns figures of each tool, the most used first. */
export function toolStatistics(view: Pick<View, 'turns'>): ToolStatistics[] {
  const groups = Map.groupBy(callsOf(view), ({ name, server }) => JSON.stringify([server, name]))
  return [...groups.values()].flatMap(statisticsOf).toSorted((a, b) => b.calls - a.calls)
}

const failedStates: ReadonlySet<CallState> = new Set(['failed', 'outcome unknown'])

/** Returns the number of calls that failed or whose outcome is unknown. Denied and expired ones never ran. */
export const failedCount = (calls: readonly ToolCall[]): number =>
  calls.filter(({ state }) => failedStates.has(state)).length

const unrunStates: ReadonlySet<CallState> = new Set(['denied', 'expired', 'stopped'])

function statisticsOf(calls: readonly ToolCall[]): ToolStatistics[] {
  const [first] = calls
  if (!first) return []
  const timed = calls
    .filter(({ state }) => !unrunStates.has(state))
    .flatMap(call => {
      const ms = callDurationMs(call)
      return ms === undefined ? [] : [{ ms, eventId: call.key }]
    })
    .toSorted((a, b) => a.ms - b.ms)
  const longest = timed.at(-1)
  return [
    {
      name: first.name,
      server: first.server,
      calls: calls.length,
      failures: failedCount(calls),
      unrun: calls.filter(({ state }) => unrunStates.has(state)).length,
      medianMs: medianOf(timed.map(({ ms }) => ms)),
      maxMs: longest?.ms,
      maxEventId: longest?.eventId,
    },
  ]
}

/** Returns the median of ascending numbers: of two in the middle, their mean. */
function medianOf(sorted: readonly number[]): number | undefined {
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2
}

/** Returns the tokens of the model requests of a turn; undefined when no event reports any. */
export function usageOfTurn({ groups, usage, usageBefore }: Turn): Usage | undefined {
  const reported = groups.flatMap(group => group.usage ?? [])
  if (reported.length > 0) return reported.reduce((sum, each) => combined(sum, each, 1))
  return usage && usageBefore ? combined(usage, usageBefore, -1) : undefined
}

const combined = (a: Usage, b: Usage, sign: 1 | -1): Usage => ({
  input: a.input + sign * b.input,
  output: a.output + sign * b.output,
  cacheRead: a.cacheRead + sign * b.cacheRead,
  cacheWrite: a.cacheWrite + sign * b.cacheWrite,
})

/** Returns all input tokens of a request, with those read from and written to the cache. */
export const inputTokens = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite

/**
 * Returns the US dollars of a turn by the totals that its runtime reports. Undefined means unknown: most runtimes do not
 * report their cost, and the start of the log may be missing.
 */
export function costOfTurn({ usage, usageBefore }: Turn): number | undefined {
  if (usage?.costUsd === undefined || usageBefore?.costUsd === undefined) return undefined
  return Math.max(0, usage.costUsd - usageBefore.costUsd)
}

/** What a stop has cut off. */
export interface CutOff {
  /** Texts that the model had not finished. */
  readonly texts: readonly TextItem[]
  /** Calls that were stopped, and calls whose outcome is unknown. */
  readonly calls: readonly ToolCall[]
  /** The model request that was in flight. */
  readonly hasRequest: boolean
}

/** Returns what the end of a turn has cut off. */
export function cutOffIn(turn: Turn): CutOff {
  const last = turn.groups.at(-1)
  return {
    texts: last?.items.filter(item => item.kind === 'text').filter(({ isInterrupted }) => isInterrupted) ?? [],
    calls: callsOfTurn(turn).filter(({ state }) => state === 'stopped' || state === 'outcome unknown'),
    hasRequest: last?.state === 'interrupted',
  }
}
