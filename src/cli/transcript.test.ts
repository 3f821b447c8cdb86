import assert from 'node:assert/strict'
import { test } from 'node:test'
import { looseLog } from '../../test/support/sessions/loose-event.ts'
import type { ReadEvent } from '../client/event-reader.ts'
import { createOut } from './out.ts'
import { createTranscript } from './transcript.ts'

const delta = (text: string): ReadEvent => ({
  ephemeral: true,
  event: { type: 'event_delta', event_id: 'evt_1', delta: { type: 'content_delta', content: { type: 'text', text } } },
})

const message = (text: string): ReadEvent[] =>
  looseLog([{ type: 'agent.message', content: [{ type: 'text', text }] }]).map(event => ({ ephemeral: false, event }))

const stopRequest: ReadEvent[] = looseLog([{ id: 'evt_9', type: 'user.interrupt' }]).map(event => ({
  ephemeral: false,
  event,
}))

/** Returns the text of a terminal after `reads`. */
function shown(reads: readonly ReadEvent[], { isTerminal = true } = {}): string {
  let written = ''
  const sink = {
    write: (text: string) => {
      written += text
    },
  }
  const transcript = createTranscript(
    createOut({ stdout: sink, stderr: sink, isJson: false, isTerminal, hasColours: false }),
  )
  for (const read of reads) transcript.show(read)
  transcript.close()
  return written
}

const table = [
  ['text that came as deltas is not shown twice', [delta('Hel'), delta('lo'), ...message('Hello')], 'Hello\n'],
  ['the stored text completes what the deltas began', [delta('Hel'), ...message('Hello you')], 'Hello you\n'],
  ['deltas with a gap are followed by the whole message', [delta('lo'), ...message('Hello')], 'lo\nHello\n'],
  [
    'a line that another event cut off is not repeated',
    [delta('Hi'), ...stopRequest, ...message('Hi')],
    'Hi\n■ stop requested\n',
  ],
  ['a preview without its event ends its line', [delta('Hi')], 'Hi\n'],
  ['deltas carry no escapes', [delta('\u001b[31mred')], 'red\n'],
] as const

for (const [guarantee, reads, expected] of table) {
  test(guarantee, () => assert.equal(shown(reads), expected))
}

test('a log file gets only complete messages', () => {
  assert.equal(shown([delta('Hel'), ...message('Hello')], { isTerminal: false }), 'Hello\n')
})
