import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPair, translated } from './setup.ts'

const degradedOf = (response: Response): string => response.headers.get('x-switchyard-degraded') ?? ''
const billing = (hash: string) => ({
  type: 'text',
  text: `x-anthropic-billing-header: cc_version=2.1.329; cch=${hash}`,
})
const rules = { type: 'text', text: 'You are Claude Code.' }

for (const protocol of translated) {
  test(`N3, ${protocol}: the block of Claude Code that changes with each request stays here and is reported`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const sent: string[] = []
    for (const hash of ['0a1b2', '3c4d5']) {
      const response = await post({ system: [billing(hash), rules] })
      assert.ok(degradedOf(response).split(', ').includes('system.0=dropped'), degradedOf(response))
      await response.text()
      sent.push(sentText())
    }
    assert.ok(sent[0]?.includes('You are Claude Code.'))
    assert.doesNotMatch(sent.join(), /billing/)
    assert.equal(sent[0], sent[1])
  })

  test(`N3, ${protocol}: it also goes from instructions in one string, and from those that hold nothing else`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post({ system: `${billing('0a1b2').text}\n\nYou are Claude Code.` })
    assert.match(degradedOf(response), /system=billing_header_dropped/)
    assert.ok(sentText().includes('"You are Claude Code."'))
    await post({ system: [billing('0a1b2')] })
    assert.doesNotMatch(sentText(), /billing/)
  })
}

test('N3, anthropic-messages: passthrough keeps it', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  await post({ system: [billing('0a1b2'), rules] })
  assert.deepEqual(sent()['system'], [billing('0a1b2'), rules])
})
