import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientProgram } from '../support/client-program.ts'
import { bash, startScriptedService } from '../support/scripted-service.ts'
import { send } from '../support/send.ts'

const opencode = await clientProgram('opencode')

// Its only way to show a key is Basic, which this service does not read.
const { service } = await startScriptedService({
  key: null,
  // It quotes prompts on their way, so the answers cannot be found there.
  script: ({ rawBody }) => (rawBody.includes('"tool_result"') ? { text: 'It said hello.' } : bash('echo hello')),
})

const isBuilt = process.platform === 'linux' && process.arch === 'x64'
const skip = !isBuilt && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'

interface Line {
  readonly type: string
  readonly sessionID: string
  readonly part?: { readonly text?: string; readonly state?: { readonly status: string; readonly output: string } }
}

const attach = (...args: readonly string[]) =>
  opencode.run({
    args: ['run', '--attach', service.url, '--format', 'json', ...args],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  })

test('opencode run --attach runs a turn with a tool in a session of this service, and shows it', { skip }, async () => {
  const { code, stdout, stderr } = await attach('--model', 'switchyard/scripted', '--title', 'Attached', 'Say hello.')
  const log = `${stdout}\n${stderr}\n${service.logs()}`
  assert.equal(code, 0, log)
  const lines = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Line)
  const shown = lines.flatMap(({ part }) => part?.text ?? part?.state?.output ?? [])
  assert.deepEqual(shown, ['hello', 'It said hello.'], log)
  const id = lines[0]?.sessionID
  const record = (await send(service, `GET /session/${id}`)).json()
  assert.deepEqual([record['title'], record['status'], record['runtime']], ['Attached', 'idle', 'builtin'])

  const again = await attach('--model', 'switchyard/scripted', '--session', String(id), 'Once more.')
  assert.equal(again.code, 0, again.stderr)
  const messages = (await send(service, `GET /session/${id}/message`)).json<{ info: { role: string } }[]>()
  assert.deepEqual(
    messages.map(({ info }) => info.role),
    ['user', 'assistant', 'user', 'assistant'],
  )
})

test('opencode run --attach tells of a prompt that fails', { skip }, async () => {
  const { stdout } = await attach('--model', 'switchyard/no-such-model', 'Say hello.')
  assert.match(stdout, /no-such-model/)
})
