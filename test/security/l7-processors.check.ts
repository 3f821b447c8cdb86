import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keepBusy } from '../support/busy-processors.ts'
import { configFor } from '../support/scripted-service.ts'
import { startScriptedUpstream } from '../support/scripted-upstream.ts'
import { startService } from '../support/service.ts'
import { shellAgent } from '../support/shell-agent.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const config = JSON.stringify({ ...JSON.parse(configFor(upstream)), limits: { sandbox_cpus: 0.5 } })
const run = await shellAgent(await startService({ config }))

test('four busy processes of a command get the half processor of limits.sandbox_cpus between them', async () => {
  const used = Number((await run(keepBusy)).text)
  assert.ok(used > 0 && used < 0.7, String(used))
})
