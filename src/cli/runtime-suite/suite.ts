import { ApiError } from '../../client/failures.ts'
import { accountCases } from './account-cases.ts'
import { approvalCases } from './approval-cases.ts'
import type { SuiteCase } from './case.ts'
import { CheckFailed, NotShown } from './check.ts'
import { createSuiteContext, type SuiteContextOptions } from './context.ts'
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
 * Outcome of a case. `refused`: the runtime does not claim the flag, and the service rejects the request as documented.
 * `not claimed`: not checked. `not shown`: the runtime did nothing that could be checked.
 */
export type Outcome = 'passed' | 'refused' | 'not claimed' | 'not shown' | 'failed'

export interface CaseResult {
  readonly id: string
  readonly shows: string
  readonly outcome: Outcome
  /** Reason; empty for a passed case. */
  readonly detail: string
  readonly duration_ms: number
}

/** Capabilities that a runtime claims. */
export type Capabilities = Readonly<Record<string, boolean>>

export interface SuiteOptions extends SuiteContextOptions {
  readonly capabilities: Capabilities
  /** Ids of cases; absent: all. */
  readonly only?: readonly string[] | undefined
  readonly nowMs: () => number
}

/** Runs the cases in order and yields each result. Rejects when `stop` aborts. */
export async function* runSuite(options: SuiteOptions): AsyncGenerator<CaseResult, void, void> {
  for (const one of allCases) {
    if (options.only && !options.only.includes(one.id)) continue
    yield await resultOf(one, options)
  }
}

async function resultOf(one: SuiteCase, options: SuiteOptions): Promise<CaseResult> {
  const { id } = one
  const isClaimed = one.flag === undefined || options.capabilities[one.flag] === true
  const { shows, check } = isClaimed ? one : (one.unsupported ?? { shows: one.shows, check: undefined })
  if (!check) return { id, shows, outcome: 'not claimed', detail: `${one.flag} is false`, duration_ms: 0 }
  const startedMs = options.nowMs()
  const found = await findingOf(check, options)
  const outcome = found.outcome === 'passed' && !isClaimed ? 'refused' : found.outcome
  return { id, shows, ...found, outcome, duration_ms: Math.round(options.nowMs() - startedMs) }
}

type Finding = Pick<CaseResult, 'outcome' | 'detail'>

async function findingOf(check: SuiteCase['check'], options: SuiteOptions): Promise<Finding> {
  const context = createSuiteContext(options)
  const finding = await check(context).then((): Finding => ({ outcome: 'passed', detail: '' }), findingOfFailure)
  options.stop.throwIfAborted()
  // A failed cleanup is a finding too, but never hides the first one.
  const cleanup = await context.cleanUp().then(() => undefined, findingOfFailure)
  return finding.outcome === 'failed' ? finding : (cleanup ?? finding)
}

/** Converts an error to a finding. An unreachable service ends the suite. */
function findingOfFailure(error: unknown): Finding {
  if (error instanceof NotShown) return { outcome: 'not shown', detail: error.message }
  if (error instanceof CheckFailed) return { outcome: 'failed', detail: error.message }
  if (!(error instanceof ApiError)) throw error
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`
  return { outcome: 'failed', detail: `service returned ${error.status}: ${error.message}${request}` }
}
