// Sends requests with wrong keys at a steady rate: `{"url","perSecond","seconds"}`. Every other key has a right checksum,
// so that it costs a look into the database. Prints how often each status came, and ends.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../src/server/keys/format.ts'

const { url, perSecond, seconds } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly url: string
  readonly perSecond: number
  readonly seconds: number
}
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
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
agent.destroy()
const elapsedS = (performance.now() - startedAt) / 1_000
process.stdout.write(`${JSON.stringify({ statuses, perSecond: Math.round(total / elapsedS) })}\n`)

function sendOne(key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/models`, { agent, headers: { authorization: `Bearer ${key}` } }, answer => {
      const status = String(answer.statusCode)
      statuses[status] = (statuses[status] ?? 0) + 1
      answer.resume().on('end', resolve)
    })
    sent.on('error', reject).end()
  })
}
