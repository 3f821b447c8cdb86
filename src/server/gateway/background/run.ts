import { openAiError } from '../../../contract/openai.ts'
import { type Caller, masterCaller } from '../../http/caller.ts'
import type { Keys } from '../../keys/keys.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { Call } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import type { Preparation } from '../responses/preparation.ts'
import { AnswerSink } from './answer-sink.ts'
import { type Ciphers, cancelled, type EarlyEnd, type Ending } from './ending.ts'
import { EventWriter, whileClaimed } from './event-writer.ts'
import { firstAnswerEvent } from './events.ts'
import { decryptRequest } from './request.ts'
import type { Claim } from './rows.ts'
import type { BackgroundStore } from './store.ts'

interface Deps {
  readonly store: Pick<BackgroundStore, 'append' | 'putBack'>
  readonly ending: Ending
  readonly ciphers: Ciphers
  readonly gateway: Pick<Gateway, 'call'>
  readonly preparation: Preparation
  readonly keys: Pick<Keys, 'workerById' | 'watch'>
  readonly log: Pick<Log, 'warn'>
}

/** Why a run must end. */
interface RunSignals {
  /** The claim was lost: another process has the response, or it was cancelled or deleted. */
  readonly lost: AbortSignal
  /** The process stops. */
  readonly stopping: AbortSignal
}

/** Runs a claimed background response to its end, or puts it back. */
export type RunBackground = (claim: Claim, signals: RunSignals) => Promise<void>

/** Runs of one response that neither ended nor were put back, such as of processes that were killed. */
const maxStarts = 3
/** How long a response waits for the rate limits of its key and for an overloaded service. */
const maxWaitMs = 3_600_000
const minDelayMs = 1_000
const maxDelayMs = 60_000
const defaultDelayMs = 5_000

const failedWith = (code: string, message: string): EarlyEnd => ({ status: 'failed', error: { code, message } })
const interrupted = failedWith(
  'server_error',
  'the process that ran this response ended after a part of the answer was streamed; create the response again',
)
const tooManyStarts = failedWith('server_error', `the processes that ran this response ended ${maxStarts} times`)
const stopped = failedWith(
  'server_error',
  'the service was stopped after a part of the answer was streamed; create the response again',
)
const revoked = failedWith(
  'invalid_api_key',
  'the key that created this response was revoked, has expired or may only read',
)
const tooLarge = failedWith('server_error', 'the answer is larger than 64 MB')

export function createRunBackground(deps: Deps): RunBackground {
  const { store, ending, gateway, preparation, keys, log } = deps

  async function callerOf({ api_key_id: keyId, principal }: Claim): Promise<Caller | undefined> {
    if (keyId === null) return { ...masterCaller, principal }
    const holder = await keys.workerById(keyId)
    return holder?.principal === principal ? holder : undefined
  }

  /** Makes the call of a response. Returns its error, if any, once all its events are stored. */
  async function answer(claim: Claim, run: Run): Promise<unknown> {
    try {
      const previousId = claim.previous_id ?? undefined
      const { ready } = await preparation.prepare(run.call, previousId)
      await gateway.call({ ...ready, chain: { previousId, isStored: true, isRetained: true } }, run.sink)
      await run.writer.flushed()
      return undefined
    } catch (error) {
      await run.writer.flushed().catch(() => undefined)
      if (!(error instanceof AppError)) log.warn({ err: error, response: claim.id }, 'a background response failed')
      return error
    } finally {
      run.close()
    }
  }

  async function attempt(claim: Claim, caller: Caller, { lost, stopping }: RunSignals): Promise<void> {
    const created = await whileClaimed(lost, () => ending.created(claim))
    if (!created) return
    const run = createRun({ claim, caller, created, signals: { lost, stopping } }, deps)
    const failure = await answer(claim, run)
    const now = { ...claim, next_event: run.writer.stored }
    const isStopped = stopping.aborted && !run.sink.isComplete
    const delayMs = isStopped ? 0 : delayOf(claim, failure)
    if (delayMs !== undefined && !hasAnswer(now)) {
      await whileClaimed(lost, () => store.putBack(now, delayMs))
      return
    }
    const early = isStopped ? stopped : (run.early() ?? endOfFailure(failure))
    if (early) await ending.early(now, early, lost)
    else await ending.answered(now, run.sink.answered(), lost)
  }

  return async (claim, signals) => {
    const early = endBefore(claim)
    const caller = early ? undefined : await whileClaimed(signals.lost, () => callerOf(claim))
    if (caller) await attempt(claim, caller, signals)
    else await ending.early(claim, early ?? revoked, signals.lost)
  }
}

/** True if a reader may have events of the answer, which a second call would contradict. */
const hasAnswer = ({ is_stream, next_event }: Claim): boolean => is_stream && next_event > firstAnswerEvent

/** Returns how a response must end that must not run; undefined for one to run. */
function endBefore(claim: Claim): EarlyEnd | undefined {
  if (claim.is_cancelled) return cancelled
  if (hasAnswer(claim)) return interrupted
  return claim.starts > maxStarts ? tooManyStarts : undefined
}

interface NewRun {
  readonly claim: Claim
  readonly caller: Caller
  /** The response as it was created. */
  readonly created: Json
  readonly signals: RunSignals
}

/** One run of a response. */
interface Run {
  readonly call: Call
  readonly sink: AnswerSink
  readonly writer: EventWriter
  /** Returns why the run ended before its answer was complete; undefined if only its call can tell. */
  readonly early: () => EarlyEnd | undefined
  readonly close: () => void
}

function createRun({ claim, caller, created, signals }: NewRun, { store, ciphers, keys, log }: Deps): Run {
  const { lost, stopping } = signals
  const watched = keys.watch(caller)
  const ended = new AbortController()
  let early: EarlyEnd | undefined
  const endWith = (end: EarlyEnd): void => {
    early ??= end
    ended.abort()
  }
  const writer = new EventWriter({ store, cipher: ciphers.events, claim, lost, onStopped: () => ended.abort() })
  // The first run has the id of the request that created the response; the ledger has one row per id.
  const own = claim.id.slice('resp_'.length)
  const requestId = claim.fence === 1 ? `req_${own}` : newId('req')
  const sink = new AnswerSink({
    identity: { id: claim.id, created_at: Number(created['created_at']), previous_response_id: claim.previous_id },
    keys: { ofRun: requestId.slice('req_'.length), own },
    onEvent: event => writer.add(event),
    onDrain: resume => writer.onDrain(resume),
    onTooLarge: () => endWith(tooLarge),
  })
  return {
    call: {
      kind: 'responses',
      ...decryptRequest(ciphers.requests, claim),
      query: '',
      requestId,
      caller,
      signal: AbortSignal.any([lost, stopping, watched.signal, ended.signal]),
      stop: () => endWith(cancelled),
      onAdmitted() {
        if (claim.status === 'in_progress') return
        if (claim.is_stream)
          writer.add({ type: 'response.in_progress', response: { ...created, status: 'in_progress' } })
        else
          store.append(claim, undefined, claim.next_event).catch((cause: unknown) => {
            log.warn({ err: cause, response: claim.id }, 'could not store that a background response is in progress')
          })
      },
    },
    sink,
    writer,
    early: () => early ?? (watched.signal.aborted && !sink.isComplete ? revoked : undefined),
    close: watched.close,
  }
}

const waiting: ReadonlySet<string> = new Set(['rate_limited', 'overloaded', 'unavailable'])

/** Returns after how many milliseconds a rejected call is tried again; undefined for one that has failed. */
function delayOf({ created_at }: Claim, failure: unknown): number | undefined {
  if (!(failure instanceof AppError) || !waiting.has(failure.code)) return undefined
  if (Date.now() - created_at.getTime() > maxWaitMs) return undefined
  const statedMs = Number(failure.headers['retry-after'] ?? Number.NaN) * 1000
  const delayMs = Number.isFinite(statedMs) ? statedMs : defaultDelayMs
  // Spread, since many responses of one key wait for the same limit.
  return Math.min(Math.max(delayMs, minDelayMs), maxDelayMs) * (1 + Math.random())
}

/** Returns how a failed call ends its response; undefined for a call that did not fail. */
function endOfFailure(failure: unknown): EarlyEnd | undefined {
  if (failure === undefined) return undefined
  const { code, message, fields } =
    failure instanceof AppError ? failure : new AppError('internal', 'internal error; the log has the cause')
  const { error } = openAiError(code, message, fields['code'])
  return failedWith(error.code ?? error.type, message)
}
