import { keysOf, ownMembers } from '../bytes/own-members.ts'
import { isAnthropicFormat } from '../formats/shared/model-traits.ts'
import type { Attempt, Call, Lane, Outcome, Refusal, Target } from './call.ts'
import type { ClientFormat } from './client-format.ts'
import { type AnswerWriter, clientRefusal, type ProblemWriter } from './client-format.ts'
import type { CanonicalRequest } from './codec.ts'
import type { Degradation } from './degradations.ts'
import { type NormalRequest, normalRequest } from './normal-request.ts'
import { createPivotSink, withDegraded } from './pivot-sink.ts'
import { parsedObject } from './request.ts'
import { restoredName, type ToolNames } from './tool-names.ts'

/**
 * The lane for calls in another format than Anthropic's, by way of `inner`, which takes calls in that format. Every
 * attempt converts the received body anew: what the target can take differs.
 */
export function pivotLane(client: ClientFormat, inner: Lane): Lane {
  return async (attempt, sink) => {
    const { call, ask, target } = attempt
    const converted = client(parsedObject(call.body), {
      target,
      stream: ask.stream,
      model: ask.model,
      requestId: call.requestId,
      createdAt: Math.floor(Date.now() / 1000),
    })
    const { request, names, degraded: changed } = normalForPassthrough(converted.body, target)
    const writer = writerFor(converted.writer, names)
    const degraded = [...converted.degraded, ...changed]
    const pivot = createPivotSink({ sink, writer, stream: ask.stream, degraded })
    return asClient(await inner(anthropicAttempt(attempt, request, 'messages'), pivot), degraded, writer.problem)
  }
}

/** A request that `inner` passes on as it is; the lane of any other protocol normalises what it gets. */
export const normalForPassthrough = (request: CanonicalRequest, target: Target): NormalRequest =>
  isAnthropicFormat(target.protocol) ? normalRequest(request, target) : { request, degraded: [], names: new Map() }

/** The writer for events that name tools as they were sent. */
const writerFor = (writer: AnswerWriter, names: ToolNames): AnswerWriter =>
  names.size === 0 ? writer : { ...writer, take: event => writer.take(restoredName(event, names)) }

const modelKey = keysOf(['model'])

/** The same attempt as a client of Anthropic's format would make it. */
export function anthropicAttempt(attempt: Attempt, body: object, kind: 'messages' | 'count_tokens'): Attempt {
  const { address: _, ...given } = attempt.call
  const call: Call = { ...given, kind, body: Buffer.from(JSON.stringify(body)), query: '' }
  const [modelSpan] = ownMembers(call.body, modelKey)?.values ?? []
  return { ...attempt, call, ...(modelSpan && { ask: { ...attempt.ask, modelSpan } }) }
}

/** How a call ended, with what its conversion could not carry; a refusal in the client's own format. */
export function asClient(
  result: Outcome | Refusal,
  found: readonly Degradation[],
  problem: ProblemWriter,
): Outcome | Refusal {
  const degraded = [...found, ...(result.degraded ?? [])]
  const listed = degraded.length === 0 ? result : { ...result, degraded }
  if (listed.outcome !== 'refused') return listed
  return clientRefusal({ ...listed, headers: withDegraded(listed.headers, found) }, problem)
}
