import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
let database = new Client()
// Before the service, so that the connection is closed before its database is dropped.
after(async () => {
  agent.destroy()
  await database.end()
})
const service = await startService({ config: JSON.stringify({ demo: true }) })
database = new Client({ connectionString: service.databaseUrl })
await database.connect()

const key = (await send(service, 'POST /api/keys', { body: {} })).json<{ key: string }>().key
const body = JSON.stringify({ model: 'demo', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] })

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

const call = (): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const outgoing = request(`${service.url}/v1/messages`, { agent, method: 'POST', headers }, async response => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })

test('a ledger that cannot keep up holds callers back and names the cause; every answered call is booked', async () => {
  // The database answers, but takes no rows.
  await database.query('begin')
  await database.query('lock table usage in share mode')
  let answered = 0
  let refused: Answer | undefined
  const caller = async () => {
    while (!refused && answered < 20_000) {
      const answer = await call()
      if (answer.status === 200) answered++
      else refused = answer
    }
  }
  await Promise.all(Array.from({ length: 64 }, caller))
  assert.deepEqual([refused?.status, refused?.retryAfter], [529, '1'])
  assert.match(refused?.text ?? '', /usage ledger is behind; retry after 1 s/)
  await database.query('commit')
  await eventually(async () => (await call()).status === 200, { withinMs: 20_000, what: 'a call after the lock' })
  await eventually(
    async () => {
      const { rows } = await database.query<{ calls: string }>('select count(*) as calls from usage')
      return Number(rows[0]?.calls) === answered + 1
    },
    { withinMs: 20_000, what: `${answered + 1} rows in the ledger` },
  )
})
