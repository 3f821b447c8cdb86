import assert from 'node:assert/strict'
import type { UpstreamEvent } from '../../src/server/gateway/core/answer-event.ts'
import { Encoder } from '../../src/server/gateway/formats/anthropic/encoder.ts'
import { createMessageCollector } from '../../src/server/gateway/formats/anthropic/message-collector.ts'
import { wireFrame } from '../../src/server/gateway/formats/anthropic/wire-event.ts'
import { recordOf, recordsOf } from '../../src/server/platform/json.ts'

/** What a client reads of a decoder's events. If the encoder has to repair their order, the test fails. */
export function encodedAnswer(events: readonly UpstreamEvent[]) {
  const collector = createMessageCollector()
  let stream = ''
  const encoder = new Encoder({
    messageId: 'msg_1',
    model: 'upstream-model',
    guessInputTokens: () => 7,
    out(event) {
      stream += wireFrame(event)
      collector.take(event)
    },
    onRepair: what => assert.fail(what),
  })
  for (const event of events) if (event.type !== 'degraded' && event.type !== 'error') encoder.push(event)
  const message = collector.message()
  return {
    /** As far as it came. */
    stream,
    hasEnded: encoder.hasEnded,
    /** Undefined without an end, or with input of a tool call that is no JSON. */
    message,
    content: recordsOf(recordOf(message)['content']),
    usage: encoder.usage,
    stopReason: encoder.stopReason,
    degraded: events.flatMap(event => (event.type === 'degraded' ? [`${event.path}=${event.action}`] : [])),
    error: events.find(event => event.type === 'error'),
  }
}
