import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dispatcher } from 'undici'
import { ArrivingAnswer } from './arriving-answer.ts'

/** A connection that records what is done with it. */
function connection() {
  const done: string[] = []
  const controller = {
    paused: false,
    abort: (reason: Error) => void done.push(`abort: ${reason.message}`),
    pause() {
      this.paused = true
      done.push('pause')
    },
    resume() {
      this.paused = false
      done.push('resume')
    },
  }
  return { controller: controller as unknown as Dispatcher.DispatchController, done }
}

function begun(signal = new AbortController().signal) {
  const answer = new ArrivingAnswer(signal)
  const { controller, done } = connection()
  answer.onRequestStart(controller)
  answer.onResponseStart(controller, 100, {})
  answer.onResponseStart(controller, 200, { 'content-type': 'text/plain' })
  return { answer, controller, done }
}

async function textOf(answer: ArrivingAnswer): Promise<string> {
  let text = ''
  for await (const chunk of answer) text += chunk.toString()
  return text
}

test('the body has all parts, those before the reader came and those after', async () => {
  const { answer, controller, done } = begun()
  assert.deepEqual(await answer.head, { status: 200, headers: { 'content-type': 'text/plain' } })
  answer.onResponseData(controller, Buffer.from('a'))
  const text = textOf(answer)
  await Promise.resolve()
  answer.onResponseData(controller, Buffer.from('b'))
  answer.onResponseEnd()
  assert.deepEqual([await text, done], ['ab', []])
})

test('the connection pauses while its reader is slow', async () => {
  const { answer, controller, done } = begun()
  const part = Buffer.alloc(40 * 1024)
  answer.onResponseData(controller, part)
  assert.deepEqual(done, [])
  answer.onResponseData(controller, part)
  assert.deepEqual(done, ['pause'])
  const reader = answer[Symbol.asyncIterator]()
  await reader.next()
  assert.deepEqual(done, ['pause', 'resume'])
})

test('a reader gets the parts before the error of the connection, and a reader that leaves closes it', async () => {
  const broken = begun()
  broken.answer.onResponseData(broken.controller, Buffer.from('a'))
  broken.answer.onResponseError(broken.controller, new Error('reset'))
  const reader = broken.answer[Symbol.asyncIterator]()
  assert.equal(String((await reader.next()).value), 'a')
  await assert.rejects(reader.next(), /reset/)

  const left = begun()
  left.answer.onResponseData(left.controller, Buffer.from('a'))
  for await (const _chunk of left.answer) break
  assert.deepEqual(left.done, ['abort: the rest of the answer is not needed'])
  await assert.rejects(textOf(left.answer), /not needed/)
})

test('the signal ends a request before its connection, before its head, and in its body', async () => {
  const stop = new Error('stopped')
  const early = new AbortController()
  const unsent = new ArrivingAnswer(early.signal)
  early.abort(stop)
  await assert.rejects(unsent.head, stop)
  const late = connection()
  unsent.onRequestStart(late.controller)
  assert.deepEqual(late.done, ['abort: stopped'])

  await assert.rejects(new ArrivingAnswer(AbortSignal.abort(stop)).head, stop)

  const during = new AbortController()
  const { answer, controller, done } = begun(during.signal)
  const text = textOf(answer)
  during.abort(stop)
  await assert.rejects(text, stop)
  answer.onResponseData(controller, Buffer.from('later'))
  answer.onResponseError(controller, stop)
  assert.deepEqual(done, ['abort: stopped'])
})
