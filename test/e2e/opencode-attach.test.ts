import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { clientProgram } from '../support/service/client-program.ts'
import { send } from '../support/service/send.ts'
import { bash, startScriptedService } from '../support/upstream/scripted-service.ts'

const opencode = await clientProgram('opencode')

const { service } = await startScriptedService({
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

/** Its only way to show a key is Basic authentication. */
const attachWith = (key: string, ...args: readonly string[]) =>
  opencode.run({
    args: ['run', '--attach', service.url, '--format', 'json', ...args],
    env: {
      OPENCODE_SERVER_PASSWORD: key,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  })
const attach = (...args: readonly string[]) => attachWith(service.key, ...args)

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

test('opencode run --attach reports a prompt that fails', { skip }, async () => {
  // It may exit before what it wrote has left its process.
  for (let tries = 1; ; tries++) {
    const { stdout, stderr } = await attach('--model', 'switchyard/no-such-model', 'Say hello.')
    if (stdout === '' && tries < 3) continue
    return assert.match(stdout, /no-such-model/, stderr)
  }
})

test('opencode run --attach works with a virtual key, in sessions of its owner', { skip }, async () => {
  const { key = '' } = await holderOf(service, { owner_id: 'ada' })
  const { code, stdout, stderr } = await attachWith(key, '--model', 'switchyard/scripted', 'Say hello.')
  assert.equal(code, 0, `${stdout}\n${stderr}\n${service.logs()}`)
  const [first = '{}'] = stdout.split('\n')
  const { sessionID } = JSON.parse(first) as Line
  const record = (await send({ url: service.url, key }, `GET /session/${sessionID}`)).json()
  assert.deepEqual([record['id'], record['status']], [sessionID, 'idle'])
})

test('opencode run --attach with a wrong key is rejected', { skip }, async () => {
  const { code, stdout } = await attachWith('sk-wrong', '--model', 'switchyard/scripted', 'Say hello.')
  assert.notEqual(code, 0)
  assert.doesNotMatch(stdout, /It said hello/)
})

test('a key in Basic authentication, right or wrong, is in no log and in no answer', async () => {
  const wrong = 'sk-wrong-0123456789abcdef'
  const shown = [service.key, wrong].map(key => Buffer.from(`opencode:${key}`).toString('base64'))
  const answers = shown.map(async encoded => {
    const headers = { authorization: `Basic ${encoded}` }
    return await send(service, 'GET /session', { headers })
  })
  const [right, refused] = await Promise.all(answers)
  assert.equal(right?.status, 200)
  assert.deepEqual(
    [refused?.status, refused?.json(), refused?.headers['www-authenticate']],
    [401, { error: { type: 'gateway_error', message: 'unauthorized' } }, undefined],
  )
  const said = [service.logs(), right?.text, refused?.text].join('\n')
  for (const secret of [service.key, wrong, ...shown]) assert.ok(!said.includes(secret))
})
