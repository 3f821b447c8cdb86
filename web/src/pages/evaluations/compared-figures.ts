import type { ExperimentComparison } from '../../../../src/contract/experiments.ts'
import { count, duration, money } from '../../parts/format.ts'
import { percent } from './states.ts'

/** A figure of both experiments in words, and as shares of the larger one. */
interface ComparedFigure {
  readonly name: string
  readonly before: string
  readonly now: string
  readonly difference: string
  readonly share: { readonly before: number; readonly now: number }
}

type Read = readonly [name: string, before: number | null, now: number | null, format: (value: number) => string]

const points = (value: number): string => `${Math.round(value * 100)} points`
const wallTime = ({ created_at, ended_at }: { created_at: string; ended_at: string | null }): number | null =>
  ended_at === null ? null : Date.parse(ended_at) - Date.parse(created_at)

/** Returns the totals of a comparison; unknown ones have no bar and no difference. */
export function comparedFigures({ base, other }: ExperimentComparison): readonly ComparedFigure[] {
  const reads: readonly Read[] = [
    ['Pass rate', base.pass_rate, other.pass_rate, percent],
    ['Score', base.score, other.score, value => value.toFixed(2)],
    ['Cost', base.cost_usd, other.cost_usd, money],
    ['Tokens', base.input_tokens + base.output_tokens, other.input_tokens + other.output_tokens, count],
    ['Time', wallTime(base), wallTime(other), duration],
  ]
  return reads.map(read => figureOf(read))
}

function figureOf([name, before, now, format]: Read): ComparedFigure {
  const most = name === 'Pass rate' || name === 'Score' ? 1 : Math.max(before ?? 0, now ?? 0)
  const shareOf = (value: number | null): number => (value === null || most === 0 ? 0 : value / most)
  const words = (value: number | null): string => (value === null ? 'unknown' : format(value))
  return {
    name,
    before: words(before),
    now: words(now),
    difference: before === null || now === null ? '' : signed(now - before, name === 'Pass rate' ? points : format),
    share: { before: shareOf(before), now: shareOf(now) },
  }
}

/** Formats a difference with its sign; `same` without one. */
export function signed(difference: number, format: (value: number) => string): string {
  if (difference === 0) return 'same'
  return `${difference > 0 ? '+' : '−'}${format(Math.abs(difference))}`
}
