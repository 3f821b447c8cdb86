import type { DeploymentState } from '../../../contract/models.ts'
import type { CooldownSettings, Deployment } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import { type Attempt, type DeployedModel, isCount, type Lane, type Outcome, type Sink } from '../core/call.ts'
import { type Cooldowns, createCooldowns, type Probe } from './cooldowns.ts'
import { createHints, type HintChannel, type Hints } from './hints.ts'
import { createLoad, type Load } from './pick.ts'
import { errorClassOf, type Failure, isBroken, isFailure, retryAfterMs, verdictOf } from './retryable.ts'

interface Deps {
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly hints: Pick<Hints, 'cooled'>
  readonly log: Pick<Log, 'warn'>
}

/** One try with what is known around it. */
interface Try {
  readonly attempt: Attempt
  /** Which try of its call it is, from 1. */
  readonly number: number
  readonly lane: Lane
  readonly cooldown: CooldownSettings
  /** True for the only deployment of a group, which never rests. */
  readonly isAlone: boolean
}

/** Makes a try: its end, or how it failed with the sink untouched. Never rejects. */
export type MakeTry = (given: Try, sink: Sink) => Promise<Outcome | Failure>

/** Each try has one end in the books of its deployment, and one line in the log when it fails. */
function createMakeTry({ cooldowns, load, hints, log }: Deps): MakeTry {
  const fail = (given: Try, errorClass: string, { restMs, probe }: { restMs?: number; probe: Probe | undefined }) => {
    const { call, target } = given.attempt
    // Counting tokens has limits of its own at some upstreams: they say nothing about answers.
    if (isCount(call.kind)) probe?.left()
    else if (given.isAlone) cooldowns.note(target.deployment, errorClass)
    else {
      const outMs = cooldowns.fail(target.deployment, { errorClass, probe, ...(restMs !== undefined && { restMs }) })
      if (outMs !== undefined) hints.cooled(target.deployment.id, outMs, errorClass)
    }
  }

  const tell = ({ attempt, number }: Try, error: string, err?: unknown): void => {
    const { call, target } = attempt
    const fields = { request_id: call.requestId, deployment: target.deployment.id, attempt: number, error }
    log.warn(err === undefined ? fields : { ...fields, err }, 'model call failed')
  }

  const settleFailure = (given: Try, failure: Failure, probe: Probe | undefined): void => {
    if (verdictOf(failure) !== 'final') {
      const restMs = restOf(failure, given.cooldown)
      fail(given, errorClassOf(failure), { probe, ...(restMs !== undefined && { restMs }) })
    } else if (failure instanceof AppError) probe?.left()
    // An upstream that finds fault with a call is at work.
    else probe?.passed()
    if (failure instanceof AppError) tell(given, errorClassOf(failure), failure.cause ?? failure)
    else if (verdictOf(failure) !== 'final') tell(given, errorClassOf(failure))
  }

  const settleOutcome = (given: Try, { outcome }: Outcome, probe: Probe | undefined): void => {
    if (outcome === 'completed') probe?.passed()
    else if (outcome === 'aborted') probe?.left()
    else {
      fail(given, brokenAnswer, { probe })
      tell(given, brokenAnswer)
    }
  }

  return async (given, sink) => {
    const { deployment } = given.attempt.target
    const isProbe = !given.isAlone && cooldowns.gateOf(deployment) === 'probe'
    const probe = isProbe ? cooldowns.startProbe(deployment) : undefined
    const visit = load.enter(deployment)
    let ending: Outcome | Failure
    try {
      ending = await given.lane(given.attempt, probe ? probedSink(sink, probe) : sink)
    } catch (cause) {
      ending = failureOf(cause)
    }
    visit.leave(tokensOf(ending))
    if (isFailure(ending)) settleFailure(given, ending, probe)
    else settleOutcome(given, ending, probe)
    return ending
  }
}

/** An answer that broke off after a part of it was sent. */
const brokenAnswer = 'answer_broken'

/** Anything but an AppError is a bug of ours. The call is booked all the same, and the log has the cause. */
const failureOf = (cause: unknown): AppError =>
  cause instanceof AppError ? cause : new AppError('internal', 'this server failed', { cause })

/** For how long a failure puts its deployment out at once; undefined when it is only counted. */
function restOf(failure: Failure, { outMs }: CooldownSettings): number | undefined {
  if (isBroken(failure)) return outMs
  if (failure instanceof AppError || failure.status !== 429) return undefined
  return retryAfterMs(failure.headers, Date.now())
}

function tokensOf(ending: Outcome | Failure): number {
  if (isFailure(ending)) return 0
  const { input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } = ending.usage
  return input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens + output_tokens
}

/** A stream may last for minutes: its deployment serves again with the first byte, not with the last. */
const probedSink = (sink: Sink, probe: Probe): Sink => ({
  head(status, headers) {
    if (status < 400) probe.passed()
    sink.head(status, headers)
  },
  data: chunk => sink.data(chunk),
  onDrain: resume => sink.onDrain(resume),
  end: chunk => sink.end(chunk),
})

interface StatesOptions {
  readonly cooldown: () => CooldownSettings
  readonly find: (id: string) => Deployment | undefined
  readonly channel: HintChannel | undefined
  /** Monotonic. */
  readonly nowMs: () => number
  readonly log: Pick<Log, 'warn'>
}

/** What is known of every deployment, and the tries that add to it. */
interface DeploymentStates {
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly makeTry: MakeTry
  /** One group as clients may see it: no host, no key. */
  describe(group: readonly DeployedModel[]): DeploymentState[]
  stop(): void
}

const shareMs = 1_000
const untold = { cooled: () => {}, loaded: () => {} }

/** Keeps the state of this process and exchanges hints about it with the others. */
export function createDeploymentStates({ cooldown, find, channel, nowMs, log }: StatesOptions): DeploymentStates {
  const cooldowns = createCooldowns({ settings: cooldown, nowMs })
  const load = createLoad(nowMs)
  const withKnown = (id: string, use: (deployment: Deployment) => void): void => {
    const deployment = find(id)
    if (deployment) use(deployment)
  }
  const hints = channel
    ? createHints(channel, {
        onCooldown: (id, restMs, errorClass) => withKnown(id, known => cooldowns.follow(known, restMs, errorClass)),
        onLoad: (id, calls, tokens) => withKnown(id, known => load.add(known, calls, tokens)),
      })
    : untold
  const stopSharing = channel && every(shareMs, async () => hints.loaded(load.takeNews()))

  return {
    cooldowns,
    load,
    makeTry: createMakeTry({ cooldowns, load, hints, log }),
    describe: group =>
      group.map(({ deployment }) => {
        const isAlone = group.length === 1
        const { state, restMs, lastError } = cooldowns.health(deployment)
        return {
          id: deployment.id,
          state: isAlone ? 'healthy' : state,
          cooling_until: !isAlone && state === 'cooling' ? new Date(Date.now() + restMs).toISOString() : null,
          last_error: lastError ?? null,
          calls: load.callsAt(deployment),
        }
      }),
    stop: () => void stopSharing?.(),
  }
}
