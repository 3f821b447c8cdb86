import type { Attributes } from '../../platform/otlp.ts'
import { Recent } from '../../platform/recent.ts'
import type { UsageRow } from '../../usage/store.ts'
import { errorTypeOf, inputTokensOf, operationOf, providerNameOf } from '../gen-ai.ts'
import type { Span } from './span.ts'
import { encodedAttributes } from './span-encoding.ts'
import { type Continued, spanIdOf } from './trace-ids.ts'

interface Placed {
  readonly trace: Continued
  /** Span id of the step of the session that makes the call; undefined outside of one. */
  readonly stepId: string | undefined
}

/** Different sets of attributes that calls share. */
const maxShared = 1_000

/** Returns a function that returns the span of a booked model call that ends now. */
export function createCallSpans(): (row: UsageRow, placed: Placed) => Span {
  const known = new Recent<Buffer>(maxShared)
  /** Most attributes of two calls of a model are the same; to encode them took a third of the CPU time of a span. */
  function sharedOf(row: UsageRow): Buffer {
    const { alias, provider, upstream_model, stop_reason, kind, status, deployment, outcome, attempts, cached } = row
    const key = `${alias}\n${provider}\n${upstream_model}\n${stop_reason}\n${kind}\n${status}\n${deployment}\n${outcome}\n${attempts}\n${cached}`
    const found = known.get(key)
    if (found !== undefined) return found
    const encoded = encodedAttributes(sharedAttributes(row))
    known.set(key, encoded)
    return encoded
  }
  return (row, { trace, stepId }) => {
    const endMs = Date.now()
    return {
      traceId: trace.traceId,
      spanId: spanIdOf(row.request_id ?? ''),
      parentId: parentOf(row, { trace, stepId }),
      state: trace.state,
      name: `${operationOf(row)} ${row.alias}`,
      kind: 'client',
      startMs: endMs - Number(row.total_ms ?? 0),
      endMs,
      error: errorTypeOf(row),
      sharedAttributes: sharedOf(row),
      attributes: {
        'gen_ai.usage.input_tokens': inputTokensOf(row),
        'gen_ai.usage.output_tokens': row.output_tokens,
        'gen_ai.usage.cache_read.input_tokens': row.cache_read_tokens,
        'gen_ai.usage.cache_creation.input_tokens': row.cache_write_5m_tokens + row.cache_write_1h_tokens,
        'gen_ai.conversation.id': row.session_id ?? row.client_session_id,
        'gen_ai.agent.id': row.agent_id,
        'switchyard.request_id': row.request_id,
        'switchyard.cost_usd': row.cost_usd === null || row.cost_usd === undefined ? undefined : Number(row.cost_usd),
        'switchyard.time_to_first_token_ms': row.first_content_ms,
      },
    }
  }
}

/** Attributes that depend on the values in the key of `sharedOf` alone. */
const sharedAttributes = (row: UsageRow): Attributes => ({
  'gen_ai.operation.name': operationOf(row),
  'gen_ai.provider.name': row.provider === '' ? undefined : providerNameOf(row.provider),
  'gen_ai.request.model': row.alias,
  'gen_ai.response.model': row.upstream_model === '' ? undefined : row.upstream_model,
  'gen_ai.response.finish_reasons': row.stop_reason ? [row.stop_reason] : undefined,
  'error.type': errorTypeOf(row),
  'http.response.status_code': row.status,
  'switchyard.deployment': row.deployment,
  'switchyard.outcome': row.outcome,
  'switchyard.attempts': row.attempts,
  'switchyard.cached': row.cached === true,
})

/** A call of a session is below its step, unless a program of the session has sent its own context. */
const parentOf = ({ trace: sent, run_id }: UsageRow, { trace, stepId }: Placed): string | undefined =>
  sent || !run_id ? trace.parentId : (stepId ?? spanIdOf(run_id))
