import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientProgram } from '../support/service/client-program.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const opencode = await clientProgram('opencode')
const file = join(opencode.work, 'work.txt')
const fileText = 'written by opencode through the gateway\n'

const offersWrite = ({ rawBody }: Recorded) => rawBody.includes('"name":"write"')

// It changes prompts on their way, so the answers cannot be found there.
const { service, upstreams } = await startEveryProtocol({
  script: request => {
    // A side question, such as for a title.
    if (!offersWrite(request)) return { text: 'ok' }
    if (request.rawBody.includes('Writing.')) return { text: 'The file is written.' }
    const input = { filePath: file, content: fileText }
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
await writeFile(
  join(opencode.work, 'opencode.json'),
  JSON.stringify({ provider: Object.fromEntries(providers), permission: { '*': 'allow' }, share: 'disabled' }),
)

interface Line {
  readonly type: string
  readonly part: {
    readonly text?: string
    readonly reason?: string
    readonly state?: { readonly status: string }
    readonly tokens?: { readonly input: number; readonly output: number }
  }
}

/** A turn that writes the file; the two requests of it that the upstream got, as text. */
async function completesTurn(provider: keyof typeof packages, protocol: SpokenProtocol): Promise<readonly string[]> {
  await rm(file, { force: true })
  const before = upstreams[protocol].requests.length
  const { code, stdout, stderr } = await opencode.run({
    args: ['run', '--format', 'json', '--model', `${provider}/${aliasOf(protocol)}`, 'Write the file.'],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  })
  const log = `${stdout}\n${stderr}\n${service.logs()}`
  assert.equal(code, 0, log)
  const lines = stdout.trim().split('\n')
  const said = lines.map(line => JSON.parse(line) as Line)
  assert.deepEqual(
    said.flatMap(({ type, part: { text, state, reason } }) =>
      type === 'step_start' ? [] : [text ?? state?.status ?? reason],
    ),
    ['Writing.', 'completed', 'tool-calls', 'The file is written.', 'stop'],
    log,
  )
  const { input, output } = said.at(-1)?.part.tokens ?? {}
  assert.deepEqual([input, output], [25, 10])
  assert.equal(await readFile(file, 'utf8').catch(() => log), fileText)
  const turn = upstreams[protocol].requests.slice(before).filter(offersWrite)
  assert.equal(turn.length, 2)
  for (const { headers } of turn) assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
  return turn.map(({ rawBody }) => rawBody.toString())
}

const isBuilt = process.platform === 'linux' && process.arch === 'x64'
const skip = !isBuilt && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'

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
