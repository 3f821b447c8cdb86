// Sends requests with wrong keys at a steady rate: `{"url","perSecond","seconds"}`. Every other key has a right checksum,
// so that it costs a database query. Prints how often each status came, and ends.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { newKey } from '../../src/server/keys/format.ts'

const { url, perSecond, seconds } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly url: string
  readonly perSecond: number
  readonly seconds: number
}
const pool = new Pool(url, { connections: 64 })
const statuses: Record<string, number> = {}
const total = perSecond * seconds
const startedAt = performance.now()
const answers: Promise<void>[] = []
while (answers.length < total) {
  const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond))
  while (answers.length < due) answers.push(sendOne(answers.length % 2 === 0 ? newKey() : `sk-wrong-${answers.length}`))
  await sleep(1)
}
await Promise.all(answers)
await pool.close()
const elapsedS = (performance.now() - startedAt) / 1_000
process.stdout.write(`${JSON.stringify({ statuses, perSecond: Math.round(total / elapsedS) })}\n`)

async function sendOne(key: string): Promise<void> {
  const answer = await pool.request({ method: 'GET', path: '/v1/models', headers: { authorization: `Bearer ${key}` } })
  statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1
  await answer.body.dump()
}
