import type { Call, Sink } from '../../../src/server/gateway/core/call.ts'
import { wholeEchoes } from '../../../src/server/platform/echoes.ts'
import { fullUsage, messageFrames, type ScriptedBlock } from '../upstream/message-frames.ts'

interface ModelRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

interface Options {
  /** True for calls, counted from 0, whose stream ends after its first frames. */
  readonly isCut?: (call: number) => boolean
}

/**
 * A gateway whose model answers with `blocksAt`, which gets the number of its earlier answers in the conversation. `bodies` are the
 * requests that it received.
 */
export function scriptedModel<Body extends ModelRequest = ModelRequest>(
  blocksAt: (at: number) => readonly ScriptedBlock[],
  { isCut = () => false }: Options = {},
) {
  const bodies: Body[] = []
  return {
    bodies,
    echoes: () => wholeEchoes([]),
    async call({ body }: Call, sink: Sink) {
      const request = JSON.parse(body.toString()) as Body
      const call = bodies.push(request) - 1
      const content = blocksAt(request.messages.filter(({ role }) => role === 'assistant').length)
      const frames = messageFrames({
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'demo',
        content,
        stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
        stop_sequence: null,
        usage: fullUsage(10, 5),
      })
      sink.head(200, {})
      for (const frame of isCut(call) ? [...frames].slice(0, 3) : frames) sink.data(Buffer.from(frame))
      sink.end()
      return {
        outcome: 'completed',
        status: 200,
        stopReason: undefined,
        usage: {} as never,
        firstContentMs: 1,
      } as const
    },
  }
}
