import { callsOfTurn, failedCount, inputTokens, usageOfTurn } from '../../../session-log/statistics.ts'
import type { Turn, Usage } from '../../../session-log/view.ts'
import type { PromptCosts } from './prompt-costs.ts'

/** What some prompts of a session took. Undefined means unknown. */
export interface Figures {
  /** US dollars. */
  readonly costUsd: number | undefined
  /** Milliseconds from the starts of the runs to their ends, waits included. */
  readonly ms: number | undefined
  readonly requests: number
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly calls: number
  readonly failedCalls: number
}

/** Returns the figures of turns; a turn that runs has no time yet. */
export function figuresOf(turns: readonly Turn[], costs: PromptCosts): Figures {
  const usages = turns.flatMap(turn => usageOfTurn(turn) ?? [])
  const groups = turns.flatMap(turn => turn.groups)
  const calls = turns.flatMap(callsOfTurn)
  return {
    costUsd: sumOf(turns.flatMap(({ prompt }) => costs.get(prompt?.id ?? '') ?? [])),
    ms: sumOf(turns.flatMap(durationOf)),
    requests: groups.filter(({ kind }) => kind === 'request').length,
    inputTokens: sumOf(usages.map(inputTokens)),
    outputTokens: sumOf(usages.map(({ output }: Usage) => output)),
    calls: calls.length,
    failedCalls: failedCount(calls),
  }
}

const durationOf = ({ startedAt, end }: Turn): number[] =>
  startedAt === undefined || !end ? [] : [Math.max(0, Date.parse(end.at) - Date.parse(startedAt))]

const sumOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
