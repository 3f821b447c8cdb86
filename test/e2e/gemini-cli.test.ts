import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientProgram } from '../support/service/client-program.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol } from '../support/upstream/spoken-protocols.ts'

const gemini = await clientProgram('Gemini CLI')
const file = join(gemini.work, 'work.txt')
await mkdir(join(gemini.home, '.gemini'))
const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  telemetry: { enabled: false },
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true },
}
await writeFile(join(gemini.home, '.gemini', 'settings.json'), JSON.stringify(settings))

const { service, upstreams } = await startEveryProtocol()

interface Event {
  readonly type: string
  readonly status?: string
  readonly content?: string
  readonly role?: string
  readonly tool_name?: string
}

for (const protocol of everyProtocol) {
  test(`Gemini CLI completes a turn with a tool and a model that speaks ${protocol}`, async () => {
    await rm(file, { force: true })
    const before = upstreams[protocol].requests.length
    const call = { name: 'write_file', input: { file_path: file, content: 'written through the gateway\n' } }
    const prompt = saying(
      { thinking: 'The file is not there yet.', text: 'Writing.', tool_calls: [call] },
      { text: 'The file is written.' },
    )
    const { code, stdout, stderr } = await gemini.run({
      args: [
        '-m',
        aliasOf(protocol),
        '--yolo',
        '--skip-trust',
        '-o',
        'stream-json',
        '-p',
        `Do what this says: ${prompt}`,
      ],
      env: { GEMINI_API_KEY: service.key, GOOGLE_GEMINI_BASE_URL: service.url },
    })
    const log = `${stdout}\n${stderr}\n${service.logs()}`
    const lines = stdout
      .trim()
      .split('\n')
      .filter(line => line.startsWith('{'))
    const events = lines.map(line => JSON.parse(line) as Event)
    assert.deepEqual([code, events.at(-1)?.type, events.at(-1)?.status], [0, 'result', 'success'], log)
    const said = events.flatMap(({ type, role, content = '' }) =>
      type === 'message' && role === 'assistant' ? content : [],
    )
    assert.equal(said.join(''), 'Writing.The file is written.', log)
    assert.deepEqual(
      events.flatMap(({ type, tool_name: name, status }) => (type.startsWith('tool_') ? [[type, name ?? status]] : [])),
      [
        ['tool_use', 'write_file'],
        ['tool_result', 'success'],
      ],
    )
    assert.equal(await readFile(file, 'utf8').catch(() => log), 'written through the gateway\n')
    const requests = upstreams[protocol].requests.slice(before)
    assert.equal(requests.length, 2)
    for (const { headers } of requests)
      assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
    const second = requests[1]?.rawBody.toString() ?? ''
    assert.match(second, /Successfully created/)
    // It drops the thoughts of a model; it sends them back in a signature.
    assert.match(second, /sig_\d+|"reasoning_content"|thought_toolu/)
  })
}
