import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closingFrames, deltaFrame, deltasPerStream, jsonAnswer, openingFrames } from '../exchange.ts'
import { createReceipt, type Tally } from './answer-receipt.ts'
import { chatAnswer, chatFrames } from './chat-exchange.ts'

const newTally = (): Tally => ({
  relayMs: [],
  firstByteMs: [],
  firstContentMs: [],
  wholeMs: [],
  lostEvents: 0,
  stalls: 0,
})

const messageFrames = (): string[] => [
  ...openingFrames,
  ...Array.from({ length: deltasPerStream }, (_, number) => deltaFrame(number)),
  ...closingFrames,
]

/** Takes the frames in chunks of an odd size. */
function received(frames: readonly string[]): { readonly tally: Tally; readonly fault: string | undefined } {
  const tally = newTally()
  const receipt = createReceipt('paced', tally)
  const bytes = Buffer.from(frames.join(''))
  for (let at = 0; at < bytes.length; at += 97) receipt.take(bytes.subarray(at, at + 97))
  return { tally, fault: receipt.close() }
}

for (const [dialect, frames] of [
  ['Anthropic', messageFrames],
  ['OpenAI chat', () => [...chatFrames()]],
] as const) {
  test(`a whole stream of ${dialect} is found whole, however it is cut`, () => {
    const { tally, fault } = received(frames())
    assert.equal(fault, undefined)
    assert.equal(tally.relayMs.length, deltasPerStream)
    assert.deepEqual([tally.lostEvents, tally.firstContentMs.length, tally.wholeMs.length], [0, 1, 1])
  })

  test(`a stream of ${dialect} that breaks off is counted with what it lost`, () => {
    const { tally, fault } = received(frames().slice(0, 12))
    assert.match(fault ?? '', /ended after 10 text events/)
    assert.equal(tally.lostEvents, deltasPerStream - 10)
  })
}

test('an event that is left out is noticed', () => {
  const { tally, fault } = received(messageFrames().toSpliced(20, 1))
  assert.equal(fault, 'event 19 came in place of 18')
  assert.equal(tally.lostEvents, 1)
})

test('an event that comes much later than its neighbour is a stall, one that was sent late is none', () => {
  const frames = messageFrames()
  const late = (frame: string, byUs: number) =>
    frame.replace(/t(\d{16})/, (_, sentUs) => `t${String(Number(sentUs) - byUs).padStart(16, '0')}`)
  assert.equal(received(frames.with(20, late(frames[20] ?? '', 250_000))).tally.stalls, 1)
  const allLate = frames.map(frame => late(frame, 250_000))
  assert.equal(received(allLate).tally.stalls, 0)
})

for (const [dialect, answer] of [
  ['Anthropic', jsonAnswer],
  ['OpenAI chat', chatAnswer],
] as const) {
  test(`a JSON answer of ${dialect} must hold the whole text`, () => {
    const whole = createReceipt('json', newTally())
    whole.take(answer)
    assert.equal(whole.close(), undefined)
    const cut = createReceipt('json', newTally())
    cut.take(answer.subarray(0, 500))
    assert.match(cut.close() ?? '', /lacks the text/)
  })
}

test('a chat stream has as many events as one of Anthropic, so that a cost per event means the same', () => {
  assert.equal([...chatFrames()].length, messageFrames().length)
})
