import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedPush, pushProblem, readPushHead, rejectionReport } from './push-commands.ts'

const [zero, one, two] = ['0', '1', '2'].map(digit => digit.repeat(40)) as [string, string, string]
const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
const command = (ref: string, from = zero, to = one) => `${from} ${to} ${ref}`
const read = (text: string, size = text.length) => {
  const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))
  return readPushHead(
    (async function* () {
      for (const part of parts) yield Buffer.from(part)
    })(),
  )
}

test('commands are read however the push is cut into pieces', async () => {
  const own = 'refs/heads/switchyard/s'
  const push = `${line(`shallow ${two}`)}${line(`${command(own)}\0 report-status side-band-64k`)}${line(command('refs/tags/v1', two))}0000PACK`
  for (const size of [1, 7, 1000]) {
    const head = await read(push, size)
    assert.deepEqual(head.commands, [
      { from: zero, to: one, ref: own },
      { from: two, to: one, ref: 'refs/tags/v1' },
    ])
    assert.deepEqual(head.capabilities, ['report-status', 'side-band-64k'])
    assert.ok(push.startsWith(head.bytes.toString()))
    assert.match(pushProblem(head, 'switchyard/s') ?? '', /may push to switchyard\/s only/)
    assert.match(rejectionReport(head, 'no').toString(), /^[0-9a-f]{4}\p{Cc}000eunpack ok\n.*ng refs\/tags\/v1 no\n/su)
  }
  assert.equal(pushProblem(await read(`${line(command(own))}0000`), 'switchyard/s'), undefined)
  assert.equal(pushProblem(await read('0000'), 'switchyard/s'), undefined)
  assert.match(pushProblem(await read(`${line(command(own, one, zero))}0000`), 'switchyard/s') ?? '', /may not delete/)
})

test('a malformed, signed or endless push is rejected', async () => {
  const malformed = ['', '00', 'zzzz', '0003', '0001', `${line('hello')}0000`, line(command('refs/heads/a'))]
  const signed = `${line('push-cert\0report-status')}${line('certificate version 0.1\n')}0000`
  for (const push of [...malformed, signed, `${line(command('refs/heads/a\nb'))}0000`])
    await assert.rejects(read(push), MalformedPush, JSON.stringify(push))
  await assert.rejects(read(line(command('refs/heads/a')).repeat(2000)), /too many commands/)
})
