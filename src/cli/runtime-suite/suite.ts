import { ApiError } from '../../client/failures.ts'
import { accountCases } from './account-cases.ts'
import { approvalCases } from './approval-cases.ts'
import { type BenchOptions, createBench } from './bench.ts'
import type { SuiteCase } from './case.ts'
import { CheckFailed, NotShown } from './check.ts'
import { controlCases } from './control-cases.ts'
import { runCases } from './run-cases.ts'
import { streamCases } from './stream-cases.ts'

/** Every case, in the order of the report. */
export const allCases: readonly SuiteCase[] = [
  ...runCases,
  ...streamCases,
  ...controlCases,
  ...approvalCases,
  ...accountCases,
]

/**
 * How a case came out. `refused`: the runtime does not claim it, and the service refuses it as promised. `not claimed`:
 * nothing was checked. `not shown`: nothing came that could be looked at.
 */
export type Outcome = 'passed' | 'refused' | 'not claimed' | 'not shown' | 'failed'

export interface CaseResult {
  readonly id: string
  readonly shows: string
  readonly outcome: Outcome
  /** Why; empty for what has passed. */
  readonly detail: string
  readonly duration_ms: number
}

/** What a runtime claims of itself. */
export type Capabilities = Readonly<Record<string, boolean>>

export interface SuiteOptions extends BenchOptions {
  readonly capabilities: Capabilities
  /** Ids of cases; absent: all. */
  readonly only?: readonly string[] | undefined
  readonly nowMs: () => number
}

/** Runs the cases one after the other; each result comes as soon as it is known. Rejects when the user has stopped it. */
export async function* runSuite(options: SuiteOptions): AsyncGenerator<CaseResult, void, void> {
  for (const one of allCases) {
    if (options.only && !options.only.includes(one.id)) continue
    yield await resultOf(one, options)
  }
}

async function resultOf(one: SuiteCase, options: SuiteOptions): Promise<CaseResult> {
  const { id } = one
  const isClaimed = one.flag === undefined || options.capabilities[one.flag] === true
  const { shows, check } = isClaimed ? one : (one.refusal ?? { shows: one.shows, check: undefined })
  if (!check) return { id, shows, outcome: 'not claimed', detail: `${one.flag} is false`, duration_ms: 0 }
  const startedMs = options.nowMs()
  const found = await findingOf(check, options)
  const outcome = found.outcome === 'passed' && !isClaimed ? 'refused' : found.outcome
  return { id, shows, ...found, outcome, duration_ms: Math.round(options.nowMs() - startedMs) }
}

type Finding = Pick<CaseResult, 'outcome' | 'detail'>

async function findingOf(check: SuiteCase['check'], options: SuiteOptions): Promise<Finding> {
  const bench = createBench(options)
  const finding = await check(bench).then((): Finding => ({ outcome: 'passed', detail: '' }), findingOfFailure)
  options.stop.throwIfAborted()
  // What cannot be cleaned up is a finding, too, but never hides the first.
  const left = await bench.cleanUp().then(() => undefined, findingOfFailure)
  return finding.outcome === 'failed' ? finding : (left ?? finding)
}

/** A refusal of the service is a finding; that it cannot be reached ends the suite. */
function findingOfFailure(error: unknown): Finding {
  if (error instanceof NotShown) return { outcome: 'not shown', detail: error.message }
  if (error instanceof CheckFailed) return { outcome: 'failed', detail: error.message }
  if (!(error instanceof ApiError)) throw error
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`
  return { outcome: 'failed', detail: `the service answered ${error.status}: ${error.message}${request}` }
}
