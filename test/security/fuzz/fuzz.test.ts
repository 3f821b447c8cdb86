import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'
import { optionsVariable, type RunOptions } from './run-options.ts'

const given = JSON.parse(process.env[optionsVariable] ?? '{}') as RunOptions
const { seed = randomInt(1, 2 ** 31), minutes = 0, requests = 5, route = '' } = given
const timeout = Math.max(minutes * 60_000 * 3, 600_000)

test(`S09, S10, S26, S40, S41: generated requests to every route end no request and no service, seed ${seed}`, {
  timeout,
}, async t => {
  const endsAt = performance.now() + minutes * 60_000
  const { operations, findings, ...counts } = await fuzz({
    seed,
    requests,
    route,
    continues: () => performance.now() < endsAt,
    onFinding: finding => t.diagnostic(JSON.stringify(finding)),
  })
  t.diagnostic(`seed ${seed}: ${operations} operations, ${JSON.stringify(counts)}`)
  assert.ok(operations > 0, `no operation has ${route} in its id or path`)
  assert.deepEqual(findings, [], `npm run fuzz -- --seed ${seed} sends these requests again`)
})
