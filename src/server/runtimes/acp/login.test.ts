import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { acpRig, doing } from '../../../../test/support/acp/acp-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { promptOf, runRig } from '../../../../test/support/sessions/run-rig.ts'
import type { RuntimeFailure } from '../runtime.ts'

const refusal = [-32_000, 'Authentication required'] as const
const authMethods = [{ id: 'browser', name: 'Log in with a browser' }, { id: 'api-key' }]
const wanted =
  'program fake requires authentication (Log in with a browser, api-key); ' +
  'log in with it, or set its variables in env of the configuration file'

/** What a check of such a program rejects with; undefined when all is well. */
async function wrongWith(fake: object): Promise<string | undefined> {
  const { kind, endpoint, sandboxes } = await acpRig({ fake })
  const failure = await kind.check(endpoint, AbortSignal.timeout(20_000)).then(
    () => undefined,
    (error: RuntimeFailure) => error,
  )
  assert.deepEqual(await readdir(sandboxes.workspacesDir), [], 'nothing is left of the check')
  if (failure) assert.equal(failure.name, 'RuntimeFailure')
  return failure?.message
}

/** The last event of a run on such a program. */
async function endOf(fake: object, prompt: string) {
  const { runtime } = await acpRig({ fake })
  const rig = runRig()
  await rig.run(runtime, promptOf(prompt))
  const last = rig.log.at(-1)
  return [last?.type, (last?.error as { message: string } | undefined)?.message]
}

test('E5: a check opens a session and detects a program that requires a login', async () => {
  assert.equal(await wrongWith({ authMethods, failsToOpen: refusal }), wanted)
})

test('E5: a check accepts a program that lists authentication methods and opens a session', async () => {
  assert.equal(await wrongWith({ authMethods }), undefined)
})

test('E5: a check reports any other error of a session with the message of the program', async () => {
  assert.equal(
    await wrongWith({ authMethods, failsToOpen: [-32_603, 'no such folder'] }),
    'the program failed: no such folder',
  )
  assert.equal(await wrongWith({ failsToOpen: refusal }), 'the program failed: Authentication required')
})

test('E5: a check of a program that never opens the session ends when its signal aborts', async () => {
  const { kind, endpoint, sandboxes } = await acpRig({ fake: { hangsToOpen: true } })
  const ended = new AbortController()
  const check = kind.check(endpoint, ended.signal)
  const filesOf = () => readdir(sandboxes.workspacesDir, { recursive: true })
  await eventually(async () => (await filesOf()).some(path => path.endsWith('fake-sessions.json')))
  ended.abort(new Error('late'))
  await assert.rejects(check, { message: 'late' })
  assert.deepEqual(await readdir(sandboxes.workspacesDir), [])
})

test('E5: a prompt that requires a login fails with the same error, on opening the session or on the prompt', async () => {
  assert.deepEqual(await endOf({ authMethods, failsToOpen: refusal }, 'hi'), ['session.error', wanted])
  assert.deepEqual(await endOf({ authMethods }, doing({ fail: refusal })), ['session.error', wanted])
})

test('E5: names of authentication methods are shown on one line, without the key of the run', async () => {
  const words = await wrongWith({ authMethods: [{ id: 'a', name: 'Key\n$KEY' }], failsToOpen: refusal })
  assert.equal(words, wanted.replace('Log in with a browser, api-key', 'Key [secret]'))
})
