import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { allCases, runSuite } from '../../../src/cli/runtime-suite/suite.ts'
import { createClient } from '../../../src/client/client.ts'
import { lack } from '../../support/service/lack.ts'
import { stages } from './stages.ts'

/** What does not come here: the program of `acp` uses no model, and an agent of A2A shows neither tools nor models. */
const cannotShow: Readonly<Record<string, readonly string[]>> = {
  acp: ['failure', 'models'],
  a2a: ['tools', 'models'],
}

for (const [runtime, start] of Object.entries(stages)) {
  const skip = runtime === 'acp' && lack('bubblewrap')
  test(`${runtime} does what every runtime has to, and what it claims`, { skip }, async context => {
    const stage = await start()
    after(stage.stop)
    const client = createClient({ baseUrl: stage.service.url, key: stage.service.key })
    const { harnesses } = await client.runtimeHarnesses.list()
    const found = harnesses.find(({ alias }) => alias === runtime)
    assert.ok(found?.connected, `${runtime} is connected`)
    const suite = runSuite({
      client,
      runtime,
      capabilities: found.capabilities,
      model: stage.model,
      prompts: stage.prompts,
      owner: 'conformance',
      withinMs: 30_000,
      stop: new AbortController().signal,
      nowMs: () => performance.now(),
    })
    const seen: string[] = []
    for await (const { id, shows, outcome, detail } of suite) {
      seen.push(id)
      context.diagnostic(`${runtime} ${id} ${outcome}`)
      const skip = outcome === 'not claimed' && detail
      await context.test(`${id}: ${shows}`, { skip }, () => {
        assert.notEqual(outcome, 'failed', detail)
        // Scripts play the providers here, so that everything comes that can.
        if (!cannotShow[runtime]?.includes(id)) assert.notEqual(outcome, 'not shown', detail)
      })
    }
    assert.deepEqual(
      seen,
      allCases.map(({ id }) => id),
    )
  })
}
