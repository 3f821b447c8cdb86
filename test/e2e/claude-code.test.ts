import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientProgram } from '../support/service/client-program.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const fileText = 'written by Claude Code through the gateway\n'
const claudeCode = await clientProgram('Claude Code')
const file = join(claudeCode.work, 'work.txt')

const offersWrite = ({ rawBody }: Recorded) => rawBody.includes('"name":"Write"')

// Its side questions, such as for a title, offer no tools.
const { service, upstreams } = await startEveryProtocol({
  script: request => (offersWrite(request) ? markerScript(request) : { text: 'ok' }),
})

/** Writes the file in the first step, and reports completion once the result is there. */
const prompt = saying(
  {
    thinking: 'The file is not there yet.',
    text: 'Writing.',
    tool_calls: [{ name: 'Write', input: { file_path: file, content: fileText } }],
  },
  { text: 'The file is written.' },
)

/** A turn with a tool; the requests of it that the upstream got, without the side questions. */
async function completesTurn(protocol: SpokenProtocol, credential: Readonly<Record<string, string>>) {
  await rm(file, { force: true })
  const before = upstreams[protocol].requests.length
  const { code, stdout, stderr } = await claudeCode.run({
    args: [
      ...['-p', `Do what this says: ${prompt}`],
      ...['--model', aliasOf(protocol)],
      ...['--permission-mode', 'acceptEdits'],
      ...['--output-format', 'stream-json', '--verbose'],
    ],
    env: {
      ANTHROPIC_BASE_URL: service.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ...credential,
    },
  })
  assert.equal(code, 0, `${stdout}\n${stderr}\n${service.logs()}`)
  assert.equal(await readFile(file, 'utf8'), fileText)
  const lines = stdout.trim().split('\n')
  const result = lines.map(line => JSON.parse(line)).findLast(({ type }) => type === 'result')
  assert.deepEqual([result?.subtype, result?.is_error, result?.result], ['success', false, 'The file is written.'])
  const requests = upstreams[protocol].requests.slice(before)
  const turn = requests.filter(offersWrite)
  assert.equal(turn.length, 2)
  const [, second] = turn.map(({ rawBody }) => rawBody.toString())
  assert.match(second ?? '', /The file is not there yet\.|sig_\d+/, 'what it thought goes back along with the result')
  return requests
}

for (const credential of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const) {
  test(`Claude Code with ${credential} completes a turn with a tool through the gateway`, async () => {
    for (const { headers, url } of await completesTurn('anthropic-messages', { [credential]: service.key })) {
      assert.equal(headers['x-api-key'], 'sk-upstream')
      assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
      assert.ok(headers['anthropic-beta'], 'its betas arrive')
      assert.match(url, /beta=true/)
    }
  })
}

for (const protocol of everyProtocol.filter(protocol => protocol !== 'anthropic-messages')) {
  test(`Claude Code completes a turn with a tool and a model that speaks ${protocol}`, async () => {
    for (const { headers } of await completesTurn(protocol, { ANTHROPIC_API_KEY: service.key })) {
      assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
      const names = Object.keys(headers).filter(name => /^(anthropic-|x-claude-code-|x-stainless-)/.test(name))
      assert.deepEqual(names, [], 'nothing of its own protocol goes along')
    }
  })
}
