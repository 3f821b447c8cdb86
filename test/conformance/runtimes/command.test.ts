import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine } from '../../support/service/command-line.ts'
import { startScriptedService } from '../../support/upstream/scripted-service.ts'

// The model answers "ok" to everything, so that no tool is ever called.
const { service } = await startScriptedService({ script: [{ text: 'ok' }] })
const line = (...args: readonly string[]) =>
  runLine(['runtimes', 'test', ...args], {
    env: { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key },
    fetch: globalThis.fetch,
    nowMs: () => performance.now(),
  })

test('runtimes test prints a line a case and the counts, and leaves nothing behind', async () => {
  const { code, stdout } = await line('builtin', '--only', 'run,tools,delete')
  assert.equal(code, 0, stdout)
  assert.match(stdout, /^run +passed .*\n/)
  assert.match(stdout, /^tools +not shown .*\n +no tool was called$/m)
  assert.match(stdout, /✓ builtin: 2 passed, 1 not shown\n$/)
  const left = await fetch(`${service.url}/session`, { headers: { authorization: `Bearer ${service.key}` } })
  assert.deepEqual(await left.json(), [])
})

test('runtimes test exits with 1 when a case fails, and reports why', async () => {
  const { code, stdout } = await line('builtin', '--only', 'run', '--model', 'no-such-model', '--json')
  assert.equal(code, 1)
  const { ok, results } = JSON.parse(stdout) as { ok: boolean; results: { outcome: string; detail: string }[] }
  assert.equal(ok, false)
  assert.equal(results[0]?.outcome, 'failed')
  assert.match(results[0]?.detail ?? '', /no-such-model/)
})

test('runtimes test distinguishes a wrong name of a runtime or a case from a failure', async () => {
  const runtime = await line('nothing')
  assert.equal(runtime.code, 5)
  assert.match(runtime.stderr, /unknown runtime "nothing"; runtimes: builtin/)
  const one = await line('builtin', '--only', 'runn')
  assert.equal(one.code, 2)
  assert.match(one.stderr, /unknown case "runn"; cases: run, tools/)
  assert.equal((await line('cursor')).code, 6)
  assert.equal((await line()).code, 2)
})

test('runtimes test --capabilities prints what all runtimes claim, in Markdown', async () => {
  const { code, stdout } = await line('--capabilities')
  assert.equal(code, 0)
  const [head, rule, builtin] = stdout.split('\n')
  assert.match(head ?? '', /^\| Runtime \| streaming \| interrupt \| /)
  assert.match(rule ?? '', /^\| --- \| :-: /)
  assert.match(builtin ?? '', /^\| `builtin` \| yes \| yes \| yes /)
})
