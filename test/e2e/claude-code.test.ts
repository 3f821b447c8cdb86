import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { startScriptedService } from '../support/scripted-service.ts'
import type { Recorded } from '../support/scripted-upstream.ts'

const claude = join(import.meta.dirname, '../clients/node_modules/@anthropic-ai/claude-code/bin/claude.exe')
const fileText = 'written by Claude Code through the gateway\n'

const home = await realpath(await mkdtemp(join(tmpdir(), 'switchyard-claude-')))
const file = join(home, 'work.txt')
after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))

interface Message {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly is_error?: boolean }[]
}

const blocksOf = (request: Recorded) =>
  (request.body['messages'] as Message[]).flatMap(({ content }) => (typeof content === 'string' ? [] : content))
const hasTool = (request: Recorded, name: string) =>
  ((request.body['tools'] ?? []) as { name: string }[]).some(tool => tool.name === name)

/** Writes the file in the first step, and says that it is done once the result is there. */
const { service, upstream } = await startScriptedService({
  models: ['claude-*'],
  script: request => {
    if (!hasTool(request, 'Write')) return { text: 'ok' }
    if (blocksOf(request).some(({ type }) => type === 'tool_result')) return { text: 'The file is written.' }
    return { text: 'Writing.', tool_calls: [{ name: 'Write', input: { file_path: file, content: fileText } }] }
  },
})

for (const credential of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const) {
  test(`Claude Code with ${credential} completes a turn with a tool through the gateway`, async () => {
    await rm(file, { force: true })
    const before = upstream.requests.length
    const { code, stdout, stderr } = await runClaude({ [credential]: service.key })
    assert.equal(code, 0, `${stdout}\n${stderr}\n${service.logs()}`)
    assert.equal(await readFile(file, 'utf8'), fileText)

    const lines = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const result = lines.findLast(({ type }) => type === 'result')
    assert.deepEqual([result?.subtype, result?.is_error, result?.result], ['success', false, 'The file is written.'])
    const requests = upstream.requests.slice(before)
    const main = requests.filter(request => hasTool(request, 'Write'))
    assert.equal(main.length, 2)
    assert.ok(blocksOf(main[1] as Recorded).some(block => block.type === 'tool_result' && !block.is_error))
    for (const { headers, url } of requests) {
      assert.equal(headers['x-api-key'], 'sk-upstream')
      assert.ok(!JSON.stringify(headers).includes(service.key), 'our key never leaves')
      assert.ok(headers['anthropic-beta'], 'its betas arrive')
      assert.match(url, /beta=true/)
    }
  })
}

async function runClaude(credential: Readonly<Record<string, string>>) {
  if (!existsSync(claude)) {
    throw new Error(
      `Claude Code is missing at ${claude}: run "npm ci" in test/clients (its install script must be allowed)`,
    )
  }
  const child = spawn(
    claude,
    [
      '-p',
      'Write the file.',
      '--model',
      'claude-scripted',
      '--permission-mode',
      'acceptEdits',
      '--output-format',
      'stream-json',
      '--verbose',
    ],
    {
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_BASE_URL: service.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ...credential,
      },
    },
  )
  const impatience = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>(resolve => child.once('close', resolve)),
  ])
  clearTimeout(impatience)
  return { stdout, stderr, code }
}
