import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptOf, runRig, sessionWith } from '../../../test/support/sessions/run-rig.ts'
import type { Json } from '../platform/json.ts'
import { SetupFailed } from '../sandboxes/setup.ts'
import { idle, noCapabilities, type Runtime } from './runtime.ts'
import { withSetup } from './with-setup.ts'

const inner: Runtime = {
  id: 'inner',
  capabilities: noCapabilities,
  async *run() {
    yield [idle({ type: 'end_turn' })]
  },
  dispose: async () => undefined,
}

async function runWith(prepare: () => Promise<void>, config: Json) {
  const rig = runRig(sessionWith({ config }))
  await rig.run(withSetup(inner, { prepare }), promptOf('go'))
  return rig
}

test('a run starts after the set-up of its agent', async () => {
  let prepared = 0
  const prepare = async () => void prepared++
  const rig = await runWith(prepare, { sandbox: { setup: ['true'] } })
  assert.deepEqual([rig.types().at(-1), prepared], ['session.status_idle', 1])
  await runWith(prepare, {})
  assert.equal(prepared, 1)
})

test('a run whose set-up fails ends with an error that shows the end of its output', async () => {
  const failing = async () => {
    throw new SetupFailed({ outcome: 'exited', output: 'no such package' })
  }
  const { log } = await runWith(failing, { sandbox: { setup: ['false'] } })
  assert.equal(log.at(-1)?.type, 'session.error')
  assert.match(JSON.stringify(log.at(-1)), /config\.sandbox\.setup failed; the end of its output: no such package/)
})
