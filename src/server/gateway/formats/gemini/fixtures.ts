import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import { readStream } from '../../../../../test/support/event-grammar.ts'
import { createKeyring } from '../../../platform/seal.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { createCallSignatures, createReasoningSeals } from '../../core/reasoning-seal.ts'
import { gemini } from './codec.ts'

const seals = createReasoningSeals(createKeyring([Buffer.alloc(32, 7)]))

/** A call to Gemini as the lane describes it to the codec; with `google` one to Vertex. */
export function geminiContext(overrides: Partial<CodecContext> = {}): CodecContext {
  const deployment = {
    id: 'gemini-1',
    provider: 'gemini',
    apiBase: 'https://gemini.test',
    ...overrides.deployment,
  } as const
  const { upstreamModel = 'gemini-3.1-pro-preview' } = overrides
  return {
    upstreamModel,
    stream: true,
    requestId: 'req_1',
    reasoning: seals({ provider: deployment.provider, model: upstreamModel }),
    callSignatures: createCallSignatures(),
    ...overrides,
    deployment,
  }
}

/** The deployment of a context for Vertex. */
export const vertexDeployment = {
  id: 'vertex-1',
  provider: 'vertex',
  apiBase: 'https://vertex.test',
  google: { project: 'my-project', location: 'europe-west4', serviceAccount: undefined },
} as const satisfies CodecContext['deployment']

/** The events of a stream of chunks, to its very end. */
export function geminiEvents(chunks: readonly unknown[], context = geminiContext()): readonly UpstreamEvent[] {
  const decoder = gemini.decoder(context)
  const frames = chunks.map(chunk => ({ event: undefined, data: JSON.stringify(chunk) }))
  return [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
}

/** What a client reads of these events: through the sequencer, which throws at an illegal one, and the grammar checker. */
export function asClientReads(events: readonly UpstreamEvent[]) {
  const { stream, error, usage } = encodedAnswer(events)
  if (error?.type === 'error') throw new Error(error.message)
  return { ...readStream(stream), counts: usage }
}

/** A chunk with these parts. */
export const chunkOf = (parts: readonly unknown[], rest: object = {}, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  ...rest,
})
