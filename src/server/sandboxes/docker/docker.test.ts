import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dockerForTests } from '../../../../test/support/docker/docker-for-tests.ts'
import { sandboxesForTests } from '../sandboxes-for-tests.ts'

test('a command runs', async () => {
  const { engine, settings } = await dockerForTests()
  const sandboxes = await sandboxesForTests('docker', { settings })
  console.log(sandboxes.detail)
  const s = await sandboxes.open('ses_1')
  const t = performance.now()
  console.log(await s.exec({ command: 'id; echo hi; echo err >&2; ls -la; env; exit 7' }), performance.now() - t)
  console.log(engine.problems, engine.containers.size)
  assert.ok(true)
})
