import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasOpencode, startOpencodeProgram } from '../support/opencode/opencode-program.ts'
import { freePort } from '../support/service/free-port.ts'
import { send } from '../support/service/send.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const skip = !hasOpencode && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'
const fileText = 'written by opencode through the gateway\n'

const offersWrite = ({ rawBody }: Recorded) => rawBody.includes('"name":"write"')

// It changes prompts on their way, so the answers cannot be found there.
const { service, upstreams } = await startEveryProtocol({
  script: request => {
    // A side question, such as for a title.
    if (!offersWrite(request)) return { text: 'ok' }
    if (request.rawBody.includes('Writing.')) return { text: 'The file is written.' }
    const input = { filePath: join(work, 'work.txt'), content: fileText }
    return { thinking: 'The file is not there yet.', text: 'Writing.', tool_calls: [{ name: 'write', input }] }
  },
})

/** By the name of the provider in its settings: the package with which it calls. */
const packages = { messages: '@ai-sdk/anthropic', chat: '@ai-sdk/openai-compatible' } as const

const limit = { context: 200_000, output: 8_000 }
const models = Object.fromEntries(
  everyProtocol.map(protocol => [aliasOf(protocol), { name: protocol, tool_call: true, limit }]),
)
const providers = Object.entries(packages).map(([name, npm]) => [
  name,
  { npm, name, options: { baseURL: `${service.url}/v1`, apiKey: service.key }, models },
])
/** One program for all turns, because its start takes seconds. */
const port = await freePort()
const password = 'password-of-opencode'
const settings = { provider: Object.fromEntries(providers), permission: { '*': 'allow' } }
const { work } = skip ? { work: '' } : await startOpencodeProgram(port, { password, settings })

interface Part {
  readonly type: string
  readonly text?: string
  readonly reason?: string
  readonly state?: { readonly status: string }
  readonly tokens?: { readonly input: number; readonly output: number }
}

async function ask<T>(line: string, body?: object): Promise<T> {
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
  const answer = await send({ url: `http://127.0.0.1:${port}` }, line, { headers: { authorization }, body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}\n${service.logs()}`)
  return answer.json<T>()
}

/** A turn that writes the file; the two requests of it that the upstream got, as text. */
async function completesTurn(provider: keyof typeof packages, protocol: SpokenProtocol): Promise<readonly string[]> {
  const file = join(work, 'work.txt')
  await rm(file, { force: true })
  const before = upstreams[protocol].requests.length
  const { id } = await ask<{ id: string }>('POST /session', {})
  const model = { providerID: provider, modelID: aliasOf(protocol) }
  await ask(`POST /session/${id}/message`, { model, parts: [{ type: 'text', text: 'Write the file.' }] })
  const messages = await ask<{ info: { role: string }; parts: Part[] }[]>(`GET /session/${id}/message`)
  const parts = messages.filter(({ info }) => info.role === 'assistant').flatMap(message => message.parts)
  const log = `${JSON.stringify(messages, null, 1)}\n${service.logs()}`
  assert.deepEqual(
    parts.flatMap(({ type, text, state, reason }) =>
      ['step-start', 'reasoning'].includes(type) ? [] : [text ?? state?.status ?? reason],
    ),
    ['Writing.', 'completed', 'tool-calls', 'The file is written.', 'stop'],
    log,
  )
  const { input, output } = parts.at(-1)?.tokens ?? {}
  assert.deepEqual([input, output], [25, 10])
  assert.equal(await readFile(file, 'utf8').catch(() => log), fileText)
  const turn = upstreams[protocol].requests.slice(before).filter(offersWrite)
  assert.equal(turn.length, 2)
  for (const { headers } of turn) assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
  return turn.map(({ rawBody }) => rawBody.toString())
}

for (const protocol of everyProtocol) {
  test(`opencode with ${packages.messages} completes a turn with a tool and a model that speaks ${protocol}`, {
    skip,
  }, async () => {
    const [, second] = await completesTurn('messages', protocol)
    assert.match(second ?? '', /Wrote file successfully/)
    assert.match(second ?? '', /sig_\d+|"reasoning_content"/, 'what it thought goes back along with the result')
  })
}

for (const protocol of ['openai-chat', 'gemini'] as const) {
  test(`opencode with ${packages.chat} completes a turn with a tool and a model that speaks ${protocol}`, {
    skip,
  }, async () => {
    const [, second] = await completesTurn('chat', protocol)
    assert.match(second ?? '', /Wrote file successfully/)
  })
}
