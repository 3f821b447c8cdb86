import { statusOfCode } from '../../contract/errors.ts'
import { coversModel } from '../../contract/keys.ts'
import type { DeploymentState, Model } from '../../contract/models.ts'
import type { Budgets, Hold } from '../budgets/budgets.ts'
import type { Deployment } from '../config/config.ts'
import type { Freezes } from '../controls/freezes.ts'
import type { KeyAccess } from '../http/caller.ts'
import { type WholeEchoes, wholeEchoes } from '../platform/echoes.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { pause } from '../platform/timers.ts'
import type { Usage } from '../usage/usage.ts'
import { createCachedRouter } from './cache/cached-router.ts'
import type { ResponseCache } from './cache/entries.ts'
import { cacheUseOf } from './cache/request.ts'
import { cachedRow, costsOf, frozenPayersOf, usageRow, withAssumed } from './core/booking.ts'
import {
  type Ask,
  type Call,
  type CallKind,
  type DeployedModel,
  isCount,
  type Outcome,
  type Sink,
  type Target,
} from './core/call.ts'
import { groupsUnder, holdFor } from './core/call-holds.ts'
import { ClientCalls, type StoppedPayer } from './core/client-calls.ts'
import { asOurs, nothingSent, passOn } from './core/endings.ts'
import { headersOfHold, limitsReached, sinkUnder } from './core/rate-limit-headers.ts'
import { readRequest } from './core/request.ts'
import type { LaneFor } from './lanes.ts'
import { type ModelLimits, smallestLimits } from './pricing/price-book.ts'
import { type Admission, createAdmission } from './routing/admission.ts'
import { createDeploymentStates } from './routing/attempts.ts'
import type { HintChannel } from './routing/hints.ts'
import { type Arrival, createRouter, type Served } from './routing/router.ts'
import { createRoutingTable, type GatewayConfig, type RoutingTable } from './routing/table.ts'
import type { Pools } from './upstream/pools.ts'
import { secretsOf } from './upstream/scrub.ts'
import { UpstreamCut } from './upstream/upstream-failure.ts'

interface Options {
  readonly config: GatewayConfig
  readonly pools: Pick<Pools, 'reload' | 'close'>
  readonly laneFor: LaneFor
  /** Where calls are booked. */
  readonly usage: Pick<Usage, 'book' | 'room'>
  /** What may be spent; absent where nothing is limited. */
  readonly budgets?: Pick<Budgets, 'isLimited' | 'hold'>
  /** Whose spending is frozen; absent where nothing can be. */
  readonly freezes?: Pick<Freezes, 'isAny' | 'refusal'>
  readonly log: Log
  /** Tells other processes what this one learns about deployments; absent where there are none. */
  readonly hints?: HintChannel
  /** Answers of the calls that want it; absent where nothing is stored. */
  readonly cache?: ResponseCache
  /** Picks among deployments and spreads waits; `Math.random` by default. */
  readonly random?: () => number
  /** Waits between tries. */
  readonly wait?: typeof pause
  /** Monotonic; `performance.now` by default. */
  readonly nowMs?: () => number
  /** Mean delay of the event loop. */
  readonly loopDelayMs: () => number
  /** Why this process has no descriptors for more calls; undefined while it has. */
  readonly shortage?: () => string | undefined
}

/** Where a provider's own API is called, and what becomes of requests whose price nobody knows. */
export interface NativePlace {
  readonly deployment: Deployment
  readonly unknownPrices: GatewayConfig['prices']['unknown']
}

/** The one path of all model calls, whoever makes them. Decision 0004. */
export interface Gateway {
  /**
   * Makes a call; the answer goes to `sink`. Rejects with AppError only while the sink is untouched. Once the call's
   * signal has aborted it resolves as `aborted`, whatever the sink got.
   */
  call(call: Call, sink: Sink): Promise<Outcome>
  /** What a call asks for, by its model's full name. Throws what `call` would when the caller may not make it. */
  check(call: Call): Ask
  /** All models that can be called, by that key if one is given; the default first. */
  models(key?: KeyAccess): readonly Model[]
  /** The model of that name, also one that only a wildcard covers; undefined when the key may not use it. */
  find(id: string, key?: KeyAccess): Model | undefined
  /** What a listed model leads to: the first of its deployments, with the model's name there. */
  targetOf(id: string): DeployedModel | undefined
  /** The error for a model that is not there, with what was probably meant. */
  unknown(id: string, key?: KeyAccess): AppError
  /** True for a name that such a key may use, whether anything has it or not. */
  mayUse(id: string, key: KeyAccess | undefined): boolean
  /** The deployments that serve calls of that kind to a model. */
  served(kind: CallKind, id: string): readonly Target[]
  /** The deployment of that id. */
  deployment(id: string): Deployment | undefined
  /** The deployment whose credential opens the provider's own API: that of its wildcard, else its first; undefined without any. */
  nativeOf(provider: string): NativePlace | undefined
  /** Ends the calls of clients that are in flight in this process; how many there were. */
  stopCalls(payer: StoppedPayer): number
  /** Lets a call in that goes another way than `call`; the result counts it out. Throws `overloaded`. */
  readonly enter: Admission['enter']
  /** The limits of a model that every deployment that serves its messages keeps: the smallest ones. */
  limits(model: string): ModelLimits
  /** How the deployments of a model do, seen from this process. */
  deployments(id: string): readonly DeploymentState[]
  /** Takes over another configuration. Calls at work end as they began. `outbound` is given when the guard has changed. */
  reload(config: GatewayConfig, outbound?: Outbound): void
  /** True when a model wants the bodies of its calls recorded. */
  logsBodies(): boolean
  /** Takes the credentials of all deployments out of text that is stored. */
  echoes(): WholeEchoes
  /** Running streams. */
  readonly streams: number
  /** Ends all upstream connections, those at work too. */
  close(): Promise<void>
}

/** Builds the gateway from the configured deployments. */
export function createGateway(options: Options): Gateway {
  const {
    pools,
    laneFor,
    usage,
    budgets,
    freezes,
    cache,
    log,
    random = Math.random,
    nowMs = () => performance.now(),
  } = options
  let table = createRoutingTable(options.config, laneFor)
  const { loopDelayMs, shortage } = options
  const clientCalls = new ClientCalls()
  const admission = createAdmission({ limits: () => table.config.limits, loopDelayMs, shortage })
  const states = createDeploymentStates({
    cooldown: () => table.config.router.cooldown,
    find: id => table.deployment(id),
    channel: options.hints,
    nowMs,
    log,
  })
  const router = createRouter({ ...states, random, nowMs, ...(options.wait && { wait: options.wait }) })
  const route = cache ? createCachedRouter(router, cache) : router

  /** What was held goes with the row; without one, whoever began the call gives it back. */
  const book = (arrival: Arrival, outcome: Outcome, hold: Hold | undefined): Outcome => {
    const { attempt, attempts, givenUp, replayed } = arrival
    if (replayed) {
      const row = cachedRow(replayed, { outcome, hold })
      usage.book(row)
      hold?.settled(row)
      return outcome
    }
    if (!attempt || isCount(attempt.call.kind)) return outcome
    const facts = table.prices.factsOf(attempt.target)
    const { assumedOutputTokensPerSecond: outputTokensPerSecond } = table.config.limits
    const isStated = outcome.unstatedMs === undefined
    const booked = isStated ? outcome : withAssumed(outcome, attempt, { limits: facts, outputTokensPerSecond })
    const besidesUsd = costsOf(attempt.call, givenUp, target => table.prices.factsOf(target).price)
    const row = usageRow(attempt, { outcome: booked, attempts, price: facts.price, hold, besidesUsd })
    usage.book(row)
    hold?.settled(row)
    return booked
  }

  /** Counting tokens costs nothing. */
  const refuseFrozen = (call: Call): void => {
    const refusal = freezes?.isAny && !isCount(call.kind) ? freezes.refusal(frozenPayersOf(call)) : undefined
    if (refusal) throw refusal
  }

  /** Tells the caller how its call ended, as far as the sink has not, and books it. */
  const arrived = (arrival: Arrival, sink: Sink, hold: Hold | undefined): Outcome => {
    const { ending, attempt } = arrival
    if (ending instanceof AppError) {
      const unstated = ending instanceof UpstreamCut && { unstatedMs: ending.unstatedMs }
      book(arrival, { ...nothingSent, status: statusOfCode(ending.code), ...unstated }, hold)
      throw attempt ? asOurs(ending, attempt.ownHeaders) : ending
    }
    if (ending.outcome !== 'refused' || !attempt) return book(arrival, ending as Outcome, hold)
    return book(arrival, passOn(ending, attempt, sink), hold)
  }

  return {
    async call(call, given) {
      const startedMs = performance.now()
      const ownHeaders: Record<string, string> = { 'x-switchyard-request-id': call.requestId }
      const current = table
      let leave = () => {}
      let slot: number | undefined
      let hold: Hold | undefined
      try {
        const cacheUse = cacheUseOf(call)
        const ask = permittedAsk(call, current)
        refuseFrozen(call)
        const room = usage.room()
        if (room) await room
        const asked = onDeployment(call, current.mustServe(call.kind, ask.model, call.caller.key))
        leave = admission.enter({ isStream: ask.stream, isOfSession: call.session !== undefined })
        slot = clientCalls.begin(call)
        const incoming = {
          call,
          ask,
          table: current,
          asked,
          groupOf: groupsFor(call, current),
        }
        const holding = budgets && holdFor(budgets, incoming)
        hold = holding instanceof Promise ? await holding : holding
        if (hold) Object.assign(ownHeaders, headersOfHold(hold, call))
        const sink = sinkUnder(hold, call, given)
        const { asked: members, groupOf } = hold ? groupsUnder(hold, incoming) : incoming
        const trip = {
          call,
          ask,
          settings: current.config.router,
          asked: members,
          groupOf,
          ownHeaders,
          startedMs,
          cacheUse,
        }
        return arrived(await route(trip, sink), sink, hold)
      } catch (error) {
        throw asOurs(error, { ...ownHeaders, ...limitsReached(error, call) })
      } finally {
        if (slot !== undefined) clientCalls.end(slot)
        leave()
        hold?.release()
      }
    },
    check(call) {
      try {
        const ask = permittedAsk(call, table)
        refuseFrozen(call)
        table.mustServe(call.kind, ask.model, call.caller.key)
        return ask
      } catch (error) {
        throw asOurs(error, { 'x-switchyard-request-id': call.requestId })
      }
    },
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
    deployments: id => states.describe(table.served('messages', table.nameOf(id))),
    reload(config, outbound) {
      table = createRoutingTable(config, laneFor, table)
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

/** What a call asks for, if its key may use the model. What serves it and what the ledger says go by the full name too. */
function permittedAsk(call: Call, table: RoutingTable): Ask {
  const ask = readRequest(call)
  const model = table.nameOf(ask.model)
  const { key } = call.caller
  if (key && !coversModel(key.models, model)) throw mayNotUse(model)
  return model === ask.model ? ask : { ...ask, model }
}

/** Returns the deployments of other names: none for a name that the key may not use, or for a call that stays where its state is stored. */
function groupsFor(
  { kind, deployment, caller: { key } }: Call,
  { served }: RoutingTable,
): (name: string) => readonly Served[] {
  if (deployment !== undefined) return noGroups
  return key ? name => (coversModel(key.models, name) ? served(kind, name) : []) : name => served(kind, name)
}

/** A call that goes on from stored state stays where that is stored. */
const onDeployment = ({ deployment: wanted }: Call, asked: readonly Served[]): readonly Served[] =>
  wanted === undefined ? asked : asked.filter(({ deployment }) => deployment.id === wanted)

const noGroups = (): readonly Served[] => []

const mayNotUse = (model: string): AppError =>
  new AppError('forbidden', `this key may not use model ${model.slice(0, 200)}; GET /v1/models lists what it may use`)

/** A shorter key is a word that a conversation may hold, such as `lm-studio`. */
const shortestEventSecret = 12

const longSecretsOf = (deployment: Deployment): readonly string[] =>
  secretsOf(deployment).filter(({ length }) => length >= shortestEventSecret)
