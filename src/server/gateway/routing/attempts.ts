import type { DeploymentState } from '../../../contract/models.ts'
import type { CooldownSettings, Deployment } from '../../config/deployments.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import { type Attempt, type DeployedModel, type FormatAdapter, isCount, type Outcome, type Sink } from '../core/call.ts'
import { type Cooldowns, createCooldowns, type Probe } from './cooldowns.ts'
import { createHints, type HintChannel, type Hints } from './hints.ts'
import { createLoad, type Load } from './pick.ts'
import { errorClassOf, type Failure, isBroken, isFailure, retryAfterMs, verdictOf } from './retryable.ts'

interface Deps {
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly hints: Pick<Hints, 'cooled'>
  readonly onCooldown: OnCooldown
  readonly log: Pick<Log, 'warn'>
}

/** Called when this process starts or extends the cooldown of a deployment. */
export type OnCooldown = (deployment: Deployment, errorClass: string) => void

/** One attempt to make, with its settings. */
interface Try {
  readonly attempt: Attempt
  /** Number of the attempt in its call, from 1. */
  readonly number: number
  readonly adapter: FormatAdapter
  readonly cooldown: CooldownSettings
  /** True for the only deployment of a group, which never cools down. */
  readonly isAlone: boolean
}

/** Makes one attempt. Resolves to its outcome, or to its failure with the sink untouched. Never rejects. */
export type MakeTry = (given: Try, sink: Sink) => Promise<Outcome | Failure>

/** Creates the function that makes attempts. Each counts once for its deployment, and each failure is logged once. */
function createMakeTry({ cooldowns, load, hints, onCooldown, log }: Deps): MakeTry {
  const fail = (
    given: Try,
    errorClass: string,
    { cooldownMs, probe }: { cooldownMs?: number; probe: Probe | undefined },
  ) => {
    const { call, target } = given.attempt
    // Some upstreams limit token counting separately, so its failures do not affect model calls.
    if (isCount(call.kind)) probe?.abandoned()
    else if (given.isAlone) cooldowns.note(target.deployment, errorClass)
    else {
      const outMs = cooldowns.fail(target.deployment, {
        errorClass,
        probe,
        ...(cooldownMs !== undefined && { cooldownMs }),
      })
      if (outMs === undefined) return
      hints.cooled(target.deployment.id, outMs, errorClass)
      onCooldown(target.deployment, errorClass)
    }
  }

  const logFailure = ({ attempt, number }: Try, error: string, err?: unknown): void => {
    const { call, target } = attempt
    const fields = { request_id: call.requestId, deployment: target.deployment.id, attempt: number, error }
    log.warn(err === undefined ? fields : { ...fields, err }, 'model call failed')
  }

  const settleFailure = (given: Try, failure: Failure, probe: Probe | undefined): void => {
    if (verdictOf(failure) !== 'final') {
      const cooldownMs = cooldownOf(failure, given.cooldown)
      fail(given, errorClassOf(failure), { probe, ...(cooldownMs !== undefined && { cooldownMs }) })
    } else if (failure instanceof AppError) probe?.abandoned()
    // An upstream that rejects a call as invalid is available.
    else probe?.passed()
    if (failure instanceof AppError) logFailure(given, errorClassOf(failure), failure.cause ?? failure)
    else if (verdictOf(failure) !== 'final') logFailure(given, errorClassOf(failure))
  }

  const settleOutcome = (given: Try, { outcome }: Outcome, probe: Probe | undefined): void => {
    if (outcome === 'completed') probe?.passed()
    else if (outcome === 'aborted') probe?.abandoned()
    else {
      fail(given, malformedAnswer, { probe })
      logFailure(given, malformedAnswer)
    }
  }

  return async (given, sink) => {
    const { deployment } = given.attempt.target
    const isProbe = !given.isAlone && cooldowns.gateOf(deployment) === 'probe'
    const probe = isProbe ? cooldowns.startProbe(deployment) : undefined
    const inFlight = load.enter(deployment)
    let ending: Outcome | Failure
    try {
      ending = await given.adapter(given.attempt, probe ? probedSink(sink, probe) : sink)
    } catch (cause) {
      ending = failureOf(cause)
    }
    inFlight.leave(tokensOf(ending))
    if (isFailure(ending)) settleFailure(given, ending, probe)
    else settleOutcome(given, ending, probe)
    return ending
  }
}

/** Error class of an answer that failed after a part of it was sent. */
const malformedAnswer = 'answer_broken'

/** Any error but an AppError is a bug in the gateway. The call is booked all the same; the log has the cause. */
const failureOf = (cause: unknown): AppError =>
  cause instanceof AppError ? cause : new AppError('internal', 'internal error', { cause })

/** Returns the cooldown (ms) that this failure alone starts; undefined for a failure that is only counted. */
function cooldownOf(failure: Failure, { outMs }: CooldownSettings): number | undefined {
  if (isBroken(failure)) return outMs
  if (failure instanceof AppError || failure.status !== 429) return undefined
  return retryAfterMs(failure.headers, Date.now())
}

function tokensOf(ending: Outcome | Failure): number {
  if (isFailure(ending)) return 0
  const { input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } = ending.usage
  return input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens + output_tokens
}

/** Ends the probe at the first byte of a successful answer: a stream may last for minutes. */
const probedSink = (sink: Sink, probe: Probe): Sink => ({
  head(status, headers) {
    if (status < 400) probe.passed()
    sink.head(status, headers)
  },
  data: chunk => sink.data(chunk),
  onDrain: resume => sink.onDrain(resume),
  end: chunk => sink.end(chunk),
  ...(sink.cut && { cut: () => sink.cut?.() }),
})

interface StatesOptions {
  readonly cooldown: () => CooldownSettings
  readonly find: (id: string) => Deployment | undefined
  readonly channel: HintChannel | undefined
  readonly onCooldown?: OnCooldown | undefined
  /** Monotonic. */
  readonly nowMs: () => number
  readonly log: Pick<Log, 'warn'>
}

/** State of all deployments, and the function that makes attempts and updates it. */
interface DeploymentStates {
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly makeTry: MakeTry
  /** Describes a group for clients, without hosts or keys. */
  describe(group: readonly DeployedModel[]): DeploymentState[]
  /** Ends the cooldown of a deployment in all processes. */
  endCooldown(deployment: Deployment): void
  stop(): void
}

const shareMs = 1_000
const noHints = { cooled: () => {}, ended: () => {}, loaded: () => {} }

/** Creates the deployment states of this process, which exchanges hints with other processes. */
export function createDeploymentStates({
  cooldown,
  find,
  channel,
  onCooldown = () => {},
  nowMs,
  log,
}: StatesOptions): DeploymentStates {
  const cooldowns = createCooldowns({ settings: cooldown, nowMs })
  const load = createLoad(nowMs)
  const withDeployment = (id: string, use: (deployment: Deployment) => void): void => {
    const deployment = find(id)
    if (deployment) use(deployment)
  }
  const hints = channel
    ? createHints(channel, {
        onCooldown: (id, cooldownMs, errorClass) =>
          withDeployment(id, known => cooldowns.adopt(known, cooldownMs, errorClass)),
        onEnded: id => withDeployment(id, cooldowns.end),
        onLoad: (id, calls, tokens) => withDeployment(id, known => load.add(known, calls, tokens)),
      })
    : noHints
  const stopSharing = channel && every(shareMs, async () => hints.loaded(load.takeReports()))

  return {
    cooldowns,
    load,
    makeTry: createMakeTry({ cooldowns, load, hints, onCooldown, log }),
    describe: group =>
      group.map(({ deployment }) => {
        const isAlone = group.length === 1
        const { state, cooldownMs, lastError } = cooldowns.health(deployment)
        return {
          id: deployment.id,
          state: isAlone ? 'healthy' : state,
          cooling_until: !isAlone && state === 'cooling' ? new Date(Date.now() + cooldownMs).toISOString() : null,
          last_error: lastError ?? null,
          calls: load.inFlightAt(deployment),
        }
      }),
    endCooldown(deployment) {
      cooldowns.end(deployment)
      hints.ended(deployment.id)
    },
    stop: () => void stopSharing?.(),
  }
}
