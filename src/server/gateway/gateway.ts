import type { Deployment as DeploymentRecord } from '../../contract/deployments.ts'
import { statusOfCode } from '../../contract/error-codes.ts'
import { coversModel } from '../../contract/keys.ts'
import type { DeploymentState, Model } from '../../contract/models.ts'
import type { Budgets, Reservation } from '../budgets/budgets.ts'
import type { Deployment } from '../config/deployments.ts'
import type { Freezes } from '../controls/freezes.ts'
import type { KeyAccess } from '../http/caller.ts'
import { type WholeEchoes, wholeEchoes } from '../platform/echoes.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { pause } from '../platform/timers.ts'
import type { Usage } from '../usage/usage.ts'
import { batchAnswerResult, batchReservation } from './batching/answers.ts'
import type { BatchRequest, BatchTarget } from './batching/batch-api.ts'
import { batchRequestFor, batchTargetOf } from './batching/requests.ts'
import { createCachedRouter } from './cache/cached-router.ts'
import type { ResponseCache } from './cache/entries.ts'
import { cacheUseOf } from './cache/request.ts'
import { cachedRow, costsOf, frozenPayersOf, usageRow, withAssumed } from './core/booking.ts'
import {
  type BatchAnswer,
  type Call,
  type CallKind,
  type DeployedModel,
  isCount,
  type Outcome,
  type ParsedRequest,
  type Sink,
  type Target,
} from './core/call.ts'
import { groupsWithin, requireMoneyFor, reservationFor } from './core/call-reservations.ts'
import { ClientCalls, type StoppedPayer } from './core/client-calls.ts'
import { relayUpstreamError, unsentOutcome, withGatewayHeaders } from './core/endings.ts'
import { rejectOtherModels } from './core/other-models.ts'
import { budgetHeaders, limitsReached, sinkWithOwnLimits } from './core/rate-limit-headers.ts'
import { readRequest } from './core/request.ts'
import type { AdapterFor } from './format-adapters.ts'
import { batchPrices } from './pricing/batch-price.ts'
import { type ModelLimits, smallestLimits } from './pricing/price-book.ts'
import { type Admission, createAdmission } from './routing/admission.ts'
import { createDeploymentStates, type OnCooldown } from './routing/attempts.ts'
import { deploymentRecords } from './routing/deployment-records.ts'
import type { HintChannel } from './routing/hints.ts'
import { commonInputs, type ModelInputs } from './routing/model-info.ts'
import { createRouter, type RouteResult, type Served } from './routing/router.ts'
import { createRoutingTable, type GatewayConfig, type RoutingTable } from './routing/table.ts'
import type { Pools } from './upstream/pools.ts'
import { secretsOf } from './upstream/scrub.ts'
import { UpstreamInterrupted } from './upstream/upstream-failure.ts'

interface Options {
  readonly config: GatewayConfig
  readonly pools: Pick<Pools, 'reload' | 'close'>
  readonly adapterFor: AdapterFor
  /** Where calls are booked. */
  readonly usage: Pick<Usage, 'book' | 'room'>
  /** Budgets that limit calls; absent where calls are not limited. */
  readonly budgets?: Pick<Budgets, 'isLimited' | 'reserve' | 'requireMoney'>
  /** Frozen keys and owners; absent where freezing is not available. */
  readonly freezes?: Pick<Freezes, 'isAny' | 'rejection'>
  readonly log: Log
  /** Channel to other processes for cooldowns and load of deployments; absent in a single process. */
  readonly hints?: HintChannel
  /** Called with each cooldown that this process starts. */
  readonly onCooldown?: OnCooldown
  /** Response cache; absent where responses are not cached. */
  readonly cache?: ResponseCache
  /** For the choice of deployments and the jitter of waits; `Math.random` by default. */
  readonly random?: () => number
  /** Waits between attempts. */
  readonly wait?: typeof pause
  /** Monotonic; `performance.now` by default. */
  readonly nowMs?: () => number
  /** Mean delay of the event loop, in milliseconds. */
  readonly loopDelayMs: () => number
  /** Returns why this process has no file descriptors for more calls; undefined while it has. */
  readonly shortage?: () => string | undefined
}

/** Deployment for requests to a provider's own API, and whether requests without a known price are allowed. */
export interface NativePlace {
  readonly deployment: Deployment
  readonly unknownPrices: GatewayConfig['prices']['unknown']
}

/** The only path for model calls, of clients and of sessions. Decision 0004. */
export interface Gateway {
  /**
   * Makes a call and writes the answer to `sink`. Rejects with AppError only while the sink is untouched. After the
   * call's signal aborts, resolves with the outcome `aborted`, whatever was written.
   */
  call(call: Call, sink: Sink): Promise<Outcome>
  /** Parses and checks a call; the result has the model's full name. Throws AppError as `call` would. */
  check(call: Call): ParsedRequest
  /** Checks a call that runs later, also against its budgets of money. Rejects as `check` throws. */
  checkLater(call: Call): Promise<ParsedRequest>
  /** Returns where a batch of calls of that kind to a model goes; undefined where they are made singly. */
  batchTarget(kind: CallKind, model: string): BatchTarget | undefined
  /**
   * Checks a call, applies hooks and reserves its maximum cost, for a provider's batch API; undefined for a call that must
   * be made singly. Rejects as `call` does. The call with the answer as its `batchAnswer` settles it.
   */
  batchRequest(call: Call): Promise<BatchRequest | undefined>
  /** Returns the models that can be called, with `key` if given; the default model first. */
  models(key?: KeyAccess): readonly Model[]
  /** Returns the model of that name, also one that only a wildcard covers; undefined when the key may not use it. */
  find(id: string, key?: KeyAccess): Model | undefined
  /** Returns the first deployment of a listed model, with the model's name there. */
  targetOf(id: string): DeployedModel | undefined
  /** Creates the error for an unknown model, with suggestions. */
  unknown(id: string, key?: KeyAccess): AppError
  /** True for a name that the key may use, whether such a model exists or not. */
  mayUse(id: string, key: KeyAccess | undefined): boolean
  /** Returns the deployments that serve calls of that kind to a model. */
  served(kind: CallKind, id: string): readonly Target[]
  /** Returns the deployment with that id. */
  deployment(id: string): Deployment | undefined
  /** Returns the deployment whose credential is used for the provider's own API: its wildcard, else its first. */
  nativeOf(provider: string): NativePlace | undefined
  /** Aborts the calls of clients in flight in this process that `payer` pays for. Returns their number. */
  stopCalls(payer: StoppedPayer): number
  /** Admits a call that does not go through `call`; the returned function ends it. Throws `overloaded`. */
  readonly enter: Admission['enter']
  /** Returns the limits of a model: the smallest ones of the deployments that serve its messages. */
  limits(model: string): ModelLimits
  /** Returns the media that every deployment that serves messages of a model accepts. */
  inputs(model: string): ModelInputs
  /** Returns the state of a model's deployments, as seen from this process. */
  deployments(id: string): readonly DeploymentState[]
  /** Returns all deployments with their state, as seen from this process, in the order of the configuration. */
  allDeployments(): readonly DeploymentRecord[]
  /** Ends the cooldown of a deployment in all processes. Returns false for an unknown id. */
  endCooldown(id: string): boolean
  /** Applies a new configuration. Calls in flight keep theirs. `outbound` is given when the guard has changed. */
  reload(config: GatewayConfig, outbound?: Outbound): void
  /** True when a model is configured to record the bodies of its calls. */
  logsBodies(): boolean
  /** Returns the filter that removes the credentials of all deployments from text to be stored. */
  echoes(): WholeEchoes
  /** Streams in flight. */
  readonly streams: number
  /** Closes all upstream connections, including those in use. */
  close(): Promise<void>
}

/** Creates the gateway over the configured deployments. */
export function createGateway(options: Options): Gateway {
  const {
    pools,
    adapterFor,
    usage,
    budgets,
    freezes,
    cache,
    log,
    random = Math.random,
    nowMs = () => performance.now(),
  } = options
  let table = createRoutingTable(options.config, adapterFor)
  const { loopDelayMs, shortage } = options
  const clientCalls = new ClientCalls()
  const admission = createAdmission({ limits: () => table.config.limits, loopDelayMs, shortage })
  const states = createDeploymentStates({
    cooldown: () => table.config.router.cooldown,
    find: id => table.deployment(id),
    channel: options.hints,
    onCooldown: options.onCooldown,
    nowMs,
    log,
  })
  const router = createRouter({ ...states, random, nowMs, ...(options.wait && { wait: options.wait }) })
  const route = cache ? createCachedRouter(router, cache) : router

  /** Books a call and settles its reservation. Without a row, the reservation is released at the end of the call. */
  const book = (result: RouteResult, outcome: Outcome, reservation: Reservation | undefined): Outcome => {
    const { attempt, attempts, discarded, replayed } = result
    if (replayed) {
      const row = cachedRow(replayed, { outcome, reservation })
      usage.book(row)
      reservation?.settled(row)
      return outcome
    }
    if (!attempt || isCount(attempt.call.kind)) return outcome
    const prices = attempt.call.batchAnswer ? batchPrices(table.prices) : table.prices
    const facts = prices.factsOf(attempt.target)
    const { assumedOutputTokensPerSecond: outputTokensPerSecond } = table.config.limits
    const isStated = outcome.unstatedMs === undefined
    const booked = isStated ? outcome : withAssumed(outcome, attempt, { limits: facts, outputTokensPerSecond })
    const discardedUsd = costsOf(attempt.call, discarded, prices)
    const row = usageRow(attempt, { outcome: booked, attempts, prices, reservation, discardedUsd })
    usage.book(row)
    reservation?.settled(row)
    return booked
  }

  /** Counting tokens costs nothing. */
  const rejectFrozen = (call: Call): void => {
    const rejection = freezes?.isAny && !isCount(call.kind) ? freezes.rejection(frozenPayersOf(call)) : undefined
    if (rejection) throw rejection
  }

  /** Books a call. Writes an upstream error to the sink, and throws an error of the gateway. */
  const finish = (result: RouteResult, sink: Sink, reservation: Reservation | undefined): Outcome => {
    const { ending, attempt } = result
    if (ending instanceof AppError) {
      const unstated = ending instanceof UpstreamInterrupted && { unstatedMs: ending.unstatedMs }
      book(result, { ...unsentOutcome, status: statusOfCode(ending.code), ...unstated }, reservation)
      throw attempt ? withGatewayHeaders(ending, attempt.ownHeaders) : ending
    }
    if (ending.outcome !== 'refused' || !attempt) return book(result, ending as Outcome, reservation)
    return book(result, relayUpstreamError(ending, attempt, sink), reservation)
  }

  const check = (call: Call): ParsedRequest => {
    try {
      if (call.batchAnswer) return namedRequest(call, table)
      const parsed = permittedRequest(call, table)
      rejectFrozen(call)
      table.requireServed(call.kind, parsed.model, call.caller.key)
      return parsed
    } catch (error) {
      throw withGatewayHeaders(error, { 'x-switchyard-request-id': call.requestId })
    }
  }

  /** Settles a call with an answer that exists already, whether or not the caller may still make such calls. */
  const settleBatchAnswer = async (call: Call, answer: BatchAnswer, sink: Sink): Promise<Outcome> => {
    const parsed = namedRequest(call, table)
    const result = await batchAnswerResult(
      { call, answer, parsed, table, adapterFor, startedMs: performance.now() },
      sink,
    )
    return finish(result, sink, batchReservation(answer))
  }

  const makeCall = async (call: Call, given: Sink): Promise<Outcome> => {
    const startedMs = performance.now()
    const ownHeaders: Record<string, string> = { 'x-switchyard-request-id': call.requestId }
    const current = table
    let leave = () => {}
    let slot: number | undefined
    let reservation: Reservation | undefined
    try {
      const cacheUse = cacheUseOf(call)
      const parsed = permittedRequest(call, current)
      rejectFrozen(call)
      const room = usage.room()
      if (room) await room
      const candidates = onDeployment(call, current.requireServed(call.kind, parsed.model, call.caller.key))
      leave = admission.enter({ isStream: parsed.stream, isOfSession: call.session !== undefined })
      slot = clientCalls.begin(call)
      const incoming = {
        call,
        parsed,
        table: current,
        candidates,
        groupOf: groupsFor(call, current),
      }
      const reserving = budgets && reservationFor(budgets, incoming)
      reservation = reserving instanceof Promise ? await reserving : reserving
      rejectOtherModels(incoming, reservation)
      if (reservation) Object.assign(ownHeaders, budgetHeaders(reservation, call))
      const sink = sinkWithOwnLimits(reservation, call, given)
      const { candidates: members, groupOf } = reservation ? groupsWithin(reservation, incoming) : incoming
      const routeRequest = {
        call,
        parsed,
        settings: current.config.router,
        candidates: members,
        groupOf,
        ownHeaders,
        startedMs,
        cacheUse,
      }
      call.onAdmitted?.()
      return finish(await route(routeRequest, sink), sink, reservation)
    } catch (error) {
      throw withGatewayHeaders(error, { ...ownHeaders, ...limitsReached(error, call) })
    } finally {
      if (slot !== undefined) clientCalls.end(slot)
      leave()
      reservation?.release()
    }
  }

  return {
    call: (call, sink) => (call.batchAnswer ? settleBatchAnswer(call, call.batchAnswer, sink) : makeCall(call, sink)),
    check,
    async checkLater(call) {
      const parsed = check(call)
      const candidates = table.requireServed(call.kind, parsed.model, call.caller.key)
      if (budgets) await requireMoneyFor(budgets, { call, parsed, table, candidates, groupOf: groupsFor(call, table) })
      return parsed
    },
    async batchRequest(call) {
      const current = table
      const parsed = permittedRequest(call, current)
      rejectFrozen(call)
      const room = usage.room()
      if (room) await room
      return batchRequestFor({ call, parsed, table: current, budgets })
    },
    batchTarget: (kind, model) => batchTargetOf(table, kind, model),
    models: key => (key ? table.list.all.filter(({ id }) => coversModel(key.models, id)) : table.list.all),
    find(id, key) {
      const name = table.nameOf(id)
      return key && !coversModel(key.models, name) ? undefined : table.list.find(name)
    },
    targetOf: id => table.list.targetOf(id),
    unknown: (id, key) => table.unknown(id, key),
    mayUse: (id, key) => key === undefined || coversModel(key.models, table.nameOf(id)),
    served: (kind, id) => table.served(kind, table.nameOf(id)),
    deployment: id => table.deployment(id),
    nativeOf(provider) {
      const { deployments, prices } = table.config
      const own = deployments.filter(deployment => deployment.provider === provider)
      const deployment = own.find(({ alias }) => alias === `${provider}/*`) ?? own[0]
      return deployment && { deployment, unknownPrices: prices.unknown }
    },
    stopCalls: payer => clientCalls.stop(payer),
    enter: admission.enter,
    limits: model => smallestLimits(table.served('messages', table.nameOf(model)).map(table.prices.factsOf)),
    inputs: model => commonInputs(table.served('messages', table.nameOf(model))),
    deployments: id => states.describe(table.served('messages', table.nameOf(id))),
    allDeployments: () => deploymentRecords(table, states),
    endCooldown(id) {
      const deployment = table.deployment(id)
      if (deployment) states.endCooldown(deployment)
      return deployment !== undefined
    },
    reload(config, outbound) {
      table = createRoutingTable(config, adapterFor, table)
      pools.reload({ deployments: table.config.deployments, outbound })
    },
    logsBodies: () => table.logsBodies,
    echoes: () => wholeEchoes(table.config.deployments.flatMap(longSecretsOf)),
    get streams() {
      return admission.running
    },
    async close() {
      states.stop()
      await pools.close()
    },
  }
}

/** Parses a call and replaces the model by its full name. */
function namedRequest(call: Call, table: RoutingTable): ParsedRequest {
  const parsed = readRequest(call)
  const model = table.nameOf(parsed.model)
  return model === parsed.model ? parsed : { ...parsed, model }
}

/** As `namedRequest`; throws when the key may not use the model. */
function permittedRequest(call: Call, table: RoutingTable): ParsedRequest {
  const parsed = namedRequest(call, table)
  const { key } = call.caller
  if (key && !coversModel(key.models, parsed.model)) throw mayNotUse(parsed.model)
  return parsed
}

/**
 * Returns the lookup of a fallback's deployments: none for a model that the key may not use, or for a call bound to the
 * deployment that stores its state.
 */
function groupsFor(
  { kind, deployment, caller: { key } }: Call,
  { served }: RoutingTable,
): (name: string) => readonly Served[] {
  if (deployment !== undefined) return noGroups
  return key ? name => (coversModel(key.models, name) ? served(kind, name) : []) : name => served(kind, name)
}

/** Limits a call that continues from stored state to the deployment that stores it. */
const onDeployment = ({ deployment: wanted }: Call, candidates: readonly Served[]): readonly Served[] =>
  wanted === undefined ? candidates : candidates.filter(({ deployment }) => deployment.id === wanted)

const noGroups = (): readonly Served[] => []

const mayNotUse = (model: string): AppError =>
  new AppError(
    'forbidden',
    `this key may not use model ${model.slice(0, 200)}; GET /v1/models lists the models that it may use`,
  )

/** Shorter credentials are not removed: they may be ordinary words, such as `lm-studio`. */
const minEventSecretLength = 12

const longSecretsOf = (deployment: Deployment): readonly string[] =>
  secretsOf(deployment).filter(({ length }) => length >= minEventSecretLength)
