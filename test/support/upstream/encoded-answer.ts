import assert from 'node:assert/strict'
import type { UpstreamEvent } from '../../../src/server/gateway/core/answer-event.ts'
import { Sequencer } from '../../../src/server/gateway/core/sequencer.ts'
import { createAnthropicWriter } from '../../../src/server/gateway/formats/anthropic/write-answer.ts'
import { recordsOf } from '../../../src/server/platform/json.ts'

/** What a client of Anthropic's reads of a decoder's events. If the sequencer has to repair their order, the test fails. */
export function encodedAnswer(events: readonly UpstreamEvent[]) {
  const streamed = createAnthropicWriter({ stream: true, requestId: 'req_1' })
  const collected = createAnthropicWriter({ stream: false, requestId: 'req_1' })
  let stream = ''
  const sequencer = new Sequencer({
    messageId: 'msg_1',
    model: 'upstream-model',
    guess: { tokens: () => 7, drop: () => undefined },
    out(event) {
      stream += streamed.take(event)
      collected.take(event)
    },
    onRepair: what => assert.fail(what),
  })
  for (const event of events) {
    if (event.type !== 'degraded' && event.type !== 'declined' && event.type !== 'error') sequencer.push(event)
  }
  const message = collected.whole()
  return {
    /** As far as it came. */
    stream,
    hasEnded: sequencer.hasEnded,
    /** Undefined without an end, or with input of a tool call that is no JSON. */
    message,
    content: recordsOf(message?.['content']),
    usage: sequencer.usage,
    stopReason: sequencer.stopReason,
    degraded: events.flatMap(event => (event.type === 'degraded' ? [`${event.path}=${event.action}`] : [])),
    error: events.find(event => event.type === 'error'),
  }
}
