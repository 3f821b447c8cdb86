import { messageFrames } from '../message-frames.ts'
import type { Dialect } from './dialect.ts'

/** Anthropic's own Messages API. */
export const anthropicMessages: Dialect = {
  requestKind(path, { stream }) {
    if (path.endsWith('/v1/messages/count_tokens')) return 'count'
    if (!path.endsWith('/v1/messages')) return undefined
    return stream === true ? 'stream' : 'whole'
  },
  frames: message => [...messageFrames(message)].map(frame => Buffer.from(frame)),
  whole: message => message,
  count: tokens => ({ input_tokens: tokens }),
  streamType: 'text/event-stream; charset=utf-8',
  error: (status, message) => ({
    type: 'error',
    error: {
      type: status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'api_error',
      message,
    },
  }),
  brokenFrame: Buffer.from(
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  ),
}
