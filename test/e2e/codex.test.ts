import assert from 'node:assert/strict'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientProgram } from '../support/service/client-program.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const codex = await clientProgram('Codex')
// It writes nothing, and still reports success, when this is below the folder of temporary files.
const codexHome = join(codex.home, 'codex')
await mkdir(codexHome)
const file = join(codex.work, 'work.txt')

interface Case {
  readonly model: string
  readonly protocol: SpokenProtocol
  /** The call with which the model writes the file. */
  readonly call: { readonly name: string; readonly input: object }
}

const fileText = 'written by Codex through the gateway'
const command = `echo '${fileText}' > work.txt`

/** Offered for a model that it does not know. */
const withFunction: Case['call'] = { name: 'exec_command', input: { cmd: command } }
/** A tool that takes text, which other models than OpenAI's wrap in JSON. */
const withPatch: Case['call'] = {
  name: 'apply_patch',
  input: { input: `*** Begin Patch\n*** Add File: work.txt\n+${fileText}\n*** End Patch\n` },
}
/** A program that calls the tools, in a tool of a namespace that comes with the input; its `notify` is a second result. */
const withProgram: Case['call'] = {
  name: 'functions__exec',
  input: { input: `notify("under way")\ntext(await tools.exec_command(${JSON.stringify({ cmd: command })}))` },
}

/** It offers its tools in the form that it holds best for a model, by the model's name. */
const known: readonly Case[] = [
  { model: 'gpt-5.5', protocol: 'anthropic-messages', call: withPatch },
  { model: 'gpt-6-astra', protocol: 'anthropic-messages', call: withProgram },
  { model: 'gpt-6-luna', protocol: 'openai-chat', call: withProgram },
  { model: 'gpt-6-sol', protocol: 'gemini', call: withProgram },
  { model: 'gpt-6.1-sol', protocol: 'bedrock-converse', call: withProgram },
]

const { service, upstreams } = await startEveryProtocol({
  aliases: Object.fromEntries(known.map(({ model, protocol }) => [model, protocol])),
})

const asArguments = (settings: object): readonly string[] =>
  Object.entries({ 'analytics.enabled': false, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${JSON.stringify(value)}`,
  ])

/** The gateway as its own provider, which Codex calls over HTTP. */
const asProvider = asArguments({
  model_provider: 'gateway',
  'model_providers.gateway.name': 'gateway',
  'model_providers.gateway.base_url': `${service.url}/v1`,
  'model_providers.gateway.env_key': 'GATEWAY_KEY',
  'model_providers.gateway.wire_api': 'responses',
})

/** The gateway in the place of OpenAI, for which Codex tries a WebSocket first. */
const asOpenAi = asArguments({ openai_base_url: `${service.url}/v1` })

/** A turn that writes the file; the two requests of it that the upstream got, as text. */
async function completesTurn({ model, protocol, call }: Case, settings = asProvider): Promise<readonly string[]> {
  await rm(file, { force: true })
  const before = upstreams[protocol].requests.length
  const prompt = saying(
    { thinking: 'The file is not there yet.', text: 'Writing.', tool_calls: [call] },
    { text: 'The file is written.' },
  )
  const { code, stdout, stderr } = await codex.run({
    args: [
      ...['exec', '--json', '-s', 'workspace-write', '--skip-git-repo-check'],
      ...[...settings, '-m', model, `Do what this says: ${prompt}`],
    ],
    env: { CODEX_HOME: codexHome, GATEWAY_KEY: service.key, CODEX_API_KEY: service.key },
  })
  const lines = stdout.trim().split('\n')
  const events = lines.map(line => JSON.parse(line) as { type: string; item?: { type: string; text?: string } })
  const log = `${stdout}\n${stderr}\n${service.logs()}`
  assert.deepEqual([code, events.at(-1)?.type], [0, 'turn.completed'], log)
  const said = events.flatMap(({ type, item }) => (type === 'item.completed' && item ? [item] : []))
  assert.deepEqual(
    said.flatMap(({ type, text }) => (type === 'agent_message' || type === 'reasoning' ? [[type, text]] : [])),
    [
      ['reasoning', 'The file is not there yet.'],
      ['agent_message', 'Writing.'],
      ['agent_message', 'The file is written.'],
    ],
    log,
  )
  assert.equal(await readFile(file, 'utf8').catch(() => log), `${fileText}\n`)
  const requests = upstreams[protocol].requests.slice(before)
  assert.equal(requests.length, 2)
  for (const { headers } of requests) assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
  return requests.map(({ rawBody }) => rawBody.toString())
}

/** What the model thought goes back along with the result, where the protocol has a place for it. */
const signatureIn = (request: string | undefined) => /sig_\d+|"reasoning_content"/.exec(request ?? '')?.[0]

for (const protocol of everyProtocol) {
  test(`Codex completes a turn with a tool and a model that speaks ${protocol}`, async () => {
    const requests = await completesTurn({ model: aliasOf(protocol), protocol, call: withFunction })
    assert.match(requests[1] ?? '', /Process exited with code 0/)
    assert.ok(signatureIn(requests[1]))
  })
}

for (const each of known) {
  test(`Codex takes a model that speaks ${each.protocol} for ${each.model}, and completes a turn with ${each.call.name}`, async () => {
    const requests = await completesTurn(each)
    assert.match(requests[1] ?? '', each.call === withPatch ? /A work\.txt/ : /under way.*exit_code/s)
    assert.ok(signatureIn(requests[1]))
  })
}

test('E2: Codex completes a turn where openai_base_url names the gateway: it falls back from its WebSocket at once', async () => {
  const [each] = known
  assert.ok(each)
  const requests = await completesTurn(each, asOpenAi)
  assert.match(requests[1] ?? '', /A work\.txt/)
  assert.match(service.logs(), /"path":"\/v1\/responses","status":426/, 'it has tried a WebSocket')
})
