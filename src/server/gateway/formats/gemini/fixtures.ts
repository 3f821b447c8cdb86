import { readStream } from '../../../../../test/support/sessions/event-grammar.ts'
import { encodedAnswer } from '../../../../../test/support/upstream/encoded-answer.ts'
import { createKeyring } from '../../../platform/encryption.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { createCallSignatures, createReasoningSigners } from '../../core/reasoning-signers.ts'
import { gemini } from './codec.ts'

const signers = createReasoningSigners(createKeyring([Buffer.alloc(32, 7)]))

/** Returns the codec context of a call to Gemini, or to Vertex if the deployment has `google`. */
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
    reasoning: signers({ provider: deployment.provider, model: upstreamModel }),
    callSignatures: createCallSignatures(),
    ...overrides,
    deployment,
  }
}

/** Deployment for Vertex. */
export const vertexDeployment = {
  id: 'vertex-1',
  provider: 'vertex',
  apiBase: 'https://vertex.test',
  google: { project: 'my-project', location: 'europe-west4', serviceAccount: undefined },
} as const satisfies CodecContext['deployment']

/** Returns the decoder's events for a complete stream of chunks. */
export function geminiEvents(chunks: readonly unknown[], context = geminiContext()): readonly UpstreamEvent[] {
  const decoder = gemini.decoder(context)
  const frames = chunks.map(chunk => ({ event: undefined, data: JSON.stringify(chunk) }))
  return [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
}

/** Returns what a client reads of these events. Throws for events in an illegal order. */
export function asClientReads(events: readonly UpstreamEvent[]) {
  const { stream, error, usage } = encodedAnswer(events)
  if (error?.type === 'error') throw new Error(error.message)
  return { ...readStream(stream), counts: usage }
}

/** Returns a chunk with these parts. */
export const chunkOf = (parts: readonly unknown[], rest: object = {}, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  ...rest,
})
