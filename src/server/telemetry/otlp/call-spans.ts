import type { UsageRow } from '../../usage/store.ts'
import { errorTypeOf, inputTokensOf, operationOf, providerNameOf } from '../gen-ai.ts'
import type { Span } from './span.ts'
import { type Continued, spanIdOf } from './trace-ids.ts'

/** Returns the span id of a model call. */
export const callSpanIdOf = (requestId: string): string => spanIdOf(`call ${requestId}`)

interface Placed {
  readonly trace: Continued
  /** Span id of the step of the session that makes the call; undefined outside of one. */
  readonly stepId: string | undefined
}

/** Returns the span of a booked model call that ends now. */
export function spanOfCall(row: UsageRow, { trace, stepId }: Placed): Span {
  const endMs = Date.now()
  const operation = operationOf(row)
  const error = errorTypeOf(row)
  return {
    traceId: trace.traceId,
    spanId: callSpanIdOf(row.request_id ?? ''),
    parentId: parentOf(row, { trace, stepId }),
    state: trace.state,
    name: `${operation} ${row.alias}`,
    kind: 'client',
    startMs: endMs - Number(row.total_ms ?? 0),
    endMs,
    error,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': row.provider === '' ? undefined : providerNameOf(row.provider),
      'gen_ai.request.model': row.alias,
      'gen_ai.response.model': row.upstream_model === '' ? undefined : row.upstream_model,
      'gen_ai.response.finish_reasons': row.stop_reason ? [row.stop_reason] : undefined,
      'gen_ai.usage.input_tokens': inputTokensOf(row),
      'gen_ai.usage.output_tokens': row.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': row.cache_read_tokens,
      'gen_ai.usage.cache_creation.input_tokens': row.cache_write_5m_tokens + row.cache_write_1h_tokens,
      'gen_ai.conversation.id': row.session_id ?? row.client_session_id,
      'gen_ai.agent.id': row.agent_id,
      'error.type': error,
      'http.response.status_code': row.status,
      'switchyard.request_id': row.request_id,
      'switchyard.deployment': row.deployment,
      'switchyard.outcome': row.outcome,
      'switchyard.attempts': row.attempts,
      'switchyard.cached': row.cached === true,
      'switchyard.cost_usd': row.cost_usd === null || row.cost_usd === undefined ? undefined : Number(row.cost_usd),
      'switchyard.time_to_first_token_ms': row.first_content_ms,
    },
  }
}

/** A call of a session is below its step, unless a program of the session has sent its own context. */
const parentOf = ({ trace: sent, run_id }: UsageRow, { trace, stepId }: Placed): string | undefined =>
  sent || !run_id ? trace.parentId : (stepId ?? spanIdOf(run_id))
