import { jsonOr, recordOf } from '../../../platform/json.ts'
import type { Lane, Sink } from '../../core/call.ts'
import type { CanonicalRequest } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'
import { anthropicAttempt, asClient, normalForPassthrough } from '../../core/pivot-lane.ts'
import { withDegraded } from '../../core/pivot-sink.ts'
import { parsedObject } from '../../core/request.ts'
import { answerEstimate, lacksCounting } from '../../tokens/count-tokens.ts'
import { geminiErrorBody } from './errors.ts'
import { objectField } from './fields.ts'
import { geminiClient } from './read-request.ts'

/** Counts tokens for Google's clients, by way of `inner`, which counts in Anthropic's format. */
export function geminiCountLane(inner: Lane): Lane {
  return async (attempt, sink) => {
    const { call, ask, target } = attempt
    const { body, degraded } = geminiClient(countedRequest(parsedObject(call.body)), {
      target,
      stream: false,
      model: ask.model,
      requestId: call.requestId,
      createdAt: 0,
    })
    const converted = anthropicAttempt(attempt, whatIsRead(normalForPassthrough(body, target).request), 'count_tokens')
    const counting = createCountSink(sink, degraded)
    const result = await inner(converted, counting)
    if (result.outcome === 'refused' && lacksCounting(result, target.upstreamModel))
      return answerEstimate(converted, counting)
    return asClient(result, degraded, geminiErrorBody)
  }
}

/** A request to count may hold the whole request that it is about, or its contents alone. */
function countedRequest(request: Readonly<Record<string, unknown>>) {
  const whole = objectField(request, 'generateContentRequest')
  return Object.keys(whole).length > 0 ? whole : request
}

/** Counters refuse the settings of an answer. */
const whatIsRead = ({ model, system, messages, tools, tool_choice: choice, thinking }: CanonicalRequest) => ({
  model,
  ...(system !== undefined && { system }),
  messages,
  ...(tools !== undefined && { tools }),
  ...(choice !== undefined && { tool_choice: choice }),
  ...(thinking !== undefined && { thinking }),
})

function createCountSink(sink: Sink, degraded: readonly Degradation[]): Sink {
  const chunks: Buffer[] = []
  let head: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined
  return {
    head: (status, headers) => {
      head = { status, headers: withDegraded(headers, degraded) }
    },
    data: chunk => chunks.push(chunk) > 0,
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      if (chunk) chunks.push(chunk)
      const counted = recordOf(jsonOr(Buffer.concat(chunks).toString(), undefined))
      const body = Buffer.from(JSON.stringify({ totalTokens: counted['input_tokens'] ?? 0 }))
      sink.head(head?.status ?? 200, { ...head?.headers, 'content-length': String(body.length) })
      sink.end(body)
    },
  }
}
