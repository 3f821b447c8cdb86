import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf } from '../../../src/server/platform/json.ts'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair, tool, translated } from './setup.ts'

const degradedOf = (response: Response): string => response.headers.get('x-switchyard-degraded') ?? ''
const billing = (hash: string) => ({
  type: 'text',
  text: `x-anthropic-billing-header: cc_version=2.1.329; cch=${hash}`,
})
const rules = { type: 'text', text: 'You are Claude Code.' }

for (const protocol of translated) {
  test(`F3, ${protocol}: the block of Claude Code that changes with each request stays here and is reported`, async t => {
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

  test(`F3, ${protocol}: it also goes from instructions in one string, and from those that hold nothing else`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post({ system: `${billing('0a1b2').text}\n\nYou are Claude Code.` })
    assert.match(degradedOf(response), /system=billing_header_dropped/)
    assert.ok(sentText().includes('"You are Claude Code."'))
    await post({ system: [billing('0a1b2')] })
    assert.doesNotMatch(sentText(), /billing/)
  })
}

test('F3, anthropic-messages: passthrough keeps it', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  await post({ system: [billing('0a1b2'), rules] })
  assert.deepEqual(sent()['system'], [billing('0a1b2'), rules])
})

const long = `mcp__${'a-very-long-server-name__'.repeat(4)}look`
const oddNames = [long, 'files.read', 'dienst:prüfen']
const named = (name: string) => ({ ...tool, name })
const legal: Readonly<Record<SpokenProtocol, RegExp>> = {
  'anthropic-messages': /^[a-zA-Z0-9_-]{1,128}$/,
  'openai-chat': /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
  gemini: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
  'bedrock-converse': /^[a-zA-Z0-9_-]{1,64}$/,
}
/** Under any key in which a protocol names a tool. */
const namesIn = (body: string): string[] =>
  [...body.matchAll(/"(?:name|allowedFunctionNames)":\[?"([^"]+)"/g)].map(([, name]) => name ?? '')

for (const protocol of translated) {
  const usingTools = (name: string) => ({
    tools: [named(long), ...oddNames.slice(1).map(named), tool],
    tool_choice: { type: 'tool', name },
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
    ],
  })

  test(`F5, ${protocol}: names that it rejects go out as legal ones, the same everywhere and in every request`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    for (const name of oddNames) {
      await ask(usingTools(name))
      const first = sentText()
      const names = namesIn(first)
      assert.deepEqual(
        names.filter(sent => !legal[protocol].test(sent)),
        [],
      )
      assert.equal(new Set(names).size, oddNames.length + 1)
      await ask(usingTools(name))
      assert.equal(sentText(), first)
    }
  })

  test(`F5, ${protocol}: the client reads its own names, streamed and whole`, async t => {
    const {
      request: ask,
      stream,
      sentText,
    } = await startPair(t, protocol, {
      script: ({ rawBody }) => ({
        tool_calls: namesIn(rawBody.toString()).map(name => ({ name, input: { what: 'it' } })),
      }),
    })
    const request = { tools: [...oddNames.map(named), tool] }
    const whole = await ask(request)
    const all = [...oddNames, tool.name]
    assert.deepEqual(
      whole.content.map(({ name }) => name),
      all,
    )
    const { events } = await stream(request)
    const started = events.filter(({ type }) => type === 'content_block_start')
    assert.deepEqual(
      started.map(({ content_block: block }) => recordOf(block)['name']),
      all,
    )
    assert.ok(!sentText().includes(long))
  })

  test(`F5, ${protocol}: a name that looks like a shortened one stays another tool`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    await ask({ tools: [named(long)] })
    const [shortened = ''] = namesIn(sentText())
    await ask({ tools: [named(long), named(shortened)] })
    assert.equal(new Set(namesIn(sentText())).size, 2)
    assert.ok(namesIn(sentText()).includes(shortened))
  })
}

for (const protocol of everyProtocol.filter(protocol => protocol !== 'openai-chat')) {
  test(`F5, ${protocol}: a Chat client reads its own names too, and may send them back`, async t => {
    const { app, sentText } = await startPair(t, protocol, {
      script: ({ rawBody }) => ({ tool_calls: [{ name: namesIn(rawBody.toString())[0] ?? '', input: {} }] }),
    })
    const name = `${long}.${long}`
    const calls = [{ id: 'call_1', type: 'function', function: { name, arguments: '{}' } }]
    const body = {
      model: 'test-model',
      tools: [{ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } }],
      tool_choice: { type: 'function', function: { name } },
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
      ],
    }
    const response = await app.post(body, { path: '/v1/chat/completions' })
    const { choices } = (await response.json()) as { choices: [{ message: { tool_calls: typeof calls } }] }
    assert.equal(choices[0].message.tool_calls[0]?.function.name, name)
    const sent = namesIn(sentText())
    assert.equal(new Set(sent).size, 1)
    assert.match(sent[0] ?? '', legal[protocol])
  })
}
