import type { ServerResponse } from 'node:http'
import type { McpCallOutcome } from '../../../contract/mcp-calls.ts'

interface Observed {
  readonly outcome: McpCallOutcome
  readonly responseBytes: number
}

/** Observes what is written to a response; the returned function reports it. Messages are written as a whole. */
export function observeAnswer(response: ServerResponse): () => Observed {
  let responseBytes = 0
  let outcome: McpCallOutcome = 'failed'
  const saw = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    responseBytes += Buffer.byteLength(chunk)
    // The names are ASCII, so the cheapest way to read the bytes is enough.
    const text = typeof chunk === 'string' ? chunk : latin1Of(chunk)
    if (!/"result"\s*:/.test(text)) return
    outcome = /"isError"\s*:\s*true/.test(text) ? 'tool_error' : 'completed'
  }
  const { write, end } = response
  response.write = ((...given: Parameters<typeof write>) => {
    saw(given[0])
    return write.apply(response, given)
  }) as typeof write
  response.end = ((...given: Parameters<typeof end>) => {
    saw(given[0])
    return end.apply(response, given)
  }) as typeof end
  return () => ({ outcome, responseBytes })
}

const latin1Of = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
