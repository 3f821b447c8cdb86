import { statusOfCode } from '../../contract/errors.ts'
import type { Model } from '../../contract/models.ts'
import type { Config, Protocol } from '../config/config.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { UsageRow } from '../usage/store.ts'
import { createAdmission } from './admission.ts'
import { usageRow } from './booking.ts'
import type { Ask, Attempt, Call, Lane, Outcome, Refusal, Sink, Target } from './call.ts'
import { createCatalogue, pick } from './catalogue.ts'
import { answerEstimate, lacksCounting } from './counting/count-tokens.ts'
import { noTokens } from './counting/token-counts.ts'
import { createDemoLane, demoDeployment } from './demo/demo-lane.ts'
import { createModelList } from './model-list.ts'
import { createRawLane } from './raw/raw-lane.ts'
import { readRequest } from './request.ts'
import { createPools } from './upstream/pools.ts'

interface Options {
  readonly config: Pick<Config, 'deployments' | 'demo' | 'limits'>
  readonly outbound: Outbound
  /** Where calls are booked. */
  readonly usage: { book(row: UsageRow): void }
  readonly log: Log
  /** Silence in a stream after which a ping goes out; 15,000 by default. */
  readonly pingAfterMs?: number
  /** Picks among the deployments of one alias; `Math.random` by default. */
  readonly random?: () => number
}

/** The one path of all model calls, whoever makes them. Decision 0004. */
export interface Gateway {
  /**
   * Makes a call; the answer goes to `sink`. Rejects with AppError only while the sink is untouched. Once the call's
   * signal has aborted it resolves as `aborted`, whatever the sink got.
   */
  call(call: Call, sink: Sink): Promise<Outcome>
  /** All models that can be called, the default first. */
  models(): readonly Model[]
  /** The model of that name, also one that only a wildcard covers. */
  find(id: string): Model | undefined
  /** Running streams. */
  readonly streams: number
  /** Ends all upstream connections, those at work too. */
  close(): Promise<void>
}

/** Builds the gateway from the configured deployments. */
export function createGateway(options: Options): Gateway {
  const { config, outbound, usage, log, pingAfterMs = 15_000, random = Math.random } = options
  const catalogue = createCatalogue(config.demo ? [...config.deployments, demoDeployment] : config.deployments)
  const pools = createPools(outbound)
  const lanes: Partial<Record<Protocol, Lane>> = {
    'anthropic-messages': createRawLane({ pools, pingAfterMs }),
    demo: createDemoLane(),
  }
  const list = createModelList(catalogue, ({ protocol }) => protocol in lanes)
  const admission = createAdmission(config.limits.maxStreams)

  const choose = ({ model }: Ask): { lane: Lane; target: Target } => {
    const targets = catalogue.resolve(model)
    const target = pick(
      targets.filter(({ deployment }) => deployment.protocol in lanes),
      random,
    )
    const lane = target && lanes[target.deployment.protocol]
    if (lane) return { lane, target }
    const protocol = targets[0]?.deployment.protocol
    throw invalid(`model ${model.slice(0, 200)} needs the protocol ${protocol}, which is not available in this version`)
  }

  const book = (attempt: Attempt, outcome: Outcome): void => {
    if (attempt.call.kind === 'messages') usage.book(usageRow(attempt, outcome))
  }

  const tried = async (lane: Lane, attempt: Attempt, sink: Sink): Promise<Outcome> => {
    try {
      const outcome = finished(await lane(attempt, sink), attempt, sink)
      book(attempt, outcome)
      return outcome
    } catch (error) {
      const { requestId } = attempt.call
      const deployment = attempt.target.deployment.id
      log.warn({ err: causeOf(error), request_id: requestId, deployment }, 'model call failed')
      book(attempt, failed(error))
      throw error
    }
  }

  return {
    async call(call, sink) {
      const startedMs = performance.now()
      const ownHeaders: Record<string, string> = { 'x-switchyard-request-id': call.requestId }
      let leave = () => {}
      try {
        const ask = readRequest(call)
        const { lane, target } = choose(ask)
        if (ask.stream) leave = admission.enter()
        ownHeaders['x-switchyard-deployment'] = target.deployment.id
        ownHeaders['x-switchyard-attempts'] = '1'
        return await tried(lane, { call, ask, target, ownHeaders, startedMs }, sink)
      } catch (error) {
        throw asOurs(error, ownHeaders)
      } finally {
        leave()
      }
    },
    models: () => list.all,
    find: list.find,
    get streams() {
      return admission.running
    },
    close: pools.close,
  }
}

/** The end of an attempt. An upstream's own refusal goes to the client as it came, unless we can count ourselves. */
function finished(result: Outcome | Refusal, attempt: Attempt, sink: Sink): Outcome {
  if (result.outcome !== 'refused') return result
  const isCount = attempt.call.kind === 'count_tokens'
  if (isCount && lacksCounting(result, attempt.target.upstreamModel)) return answerEstimate(attempt, sink)
  const { status, headers, body } = result
  sink.head(status, { ...headers, 'content-length': String(body.length), 'x-switchyard-error-source': 'upstream' })
  sink.end(body)
  return { ...nothingSent, status }
}

const nothingSent = {
  outcome: 'failed',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
} as const

const failed = (error: unknown): Outcome => ({
  ...nothingSent,
  status: statusOfCode(error instanceof AppError ? error.code : 'internal'),
})

const causeOf = (error: unknown): unknown => (error instanceof AppError ? (error.cause ?? error) : error)

/** The same refusal with the headers that say whose it is. Anything else thrown is a bug and stays as it is. */
function asOurs(error: unknown, ownHeaders: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError)) return error
  const headers = { ...error.headers, ...ownHeaders, 'x-switchyard-error-source': 'gateway' }
  return new AppError(error.code, error.message, { cause: error.cause, headers })
}
