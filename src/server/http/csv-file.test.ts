import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { fastify } from 'fastify'
import type { Cell } from '../../contract/csv.ts'
import { allRows, CsvFile, sendCsv } from './csv-file.ts'

const app = fastify()
let rows: () => AsyncIterable<readonly Cell[]> = () => assert.fail('no rows are set')
app.get('/', (_request, reply) => sendCsv(reply, new CsvFile('table', ['a', 'b'], rows())))
await app.listen({ port: 0, host: '127.0.0.1' })
after(() => app.close())
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`

test('a table has a header line and its rows; an empty table has only the header line', async () => {
  rows = async function* () {
    yield [1, 'x']
    yield [null, '=1']
  }
  assert.equal(await (await fetch(url)).text(), "a,b\r\n1,x\r\n,'=1\r\n")
  rows = async function* () {}
  assert.equal(await (await fetch(url)).text(), 'a,b\r\n')
})

test('a failure before the first row is an error status', async () => {
  // biome-ignore lint/correctness/useYield: it throws before the first yield.
  rows = async function* () {
    throw new Error('no database')
  }
  assert.equal((await fetch(url)).status, 500)
})

test('a later failure aborts the connection, so that a partial file never looks complete', async () => {
  rows = async function* () {
    yield ['x'.repeat(100_000)]
    yield ['y']
    throw new Error('database is unreachable')
  }
  const answer = await fetch(url)
  assert.equal(answer.status, 200)
  await assert.rejects(answer.text())
})

test('a disconnect stops the reading, and no rows are loaded ahead of a slow client', async () => {
  const ended = Promise.withResolvers<void>()
  let fetched = 0
  rows = async function* () {
    try {
      for (;;) {
        fetched++
        yield ['z'.repeat(1_000_000)]
      }
    } finally {
      ended.resolve()
    }
  }
  const leaving = new AbortController()
  const answer = await fetch(url, { signal: leaving.signal })
  const reader = answer.body?.getReader()
  await reader?.read()
  leaving.abort()
  await ended.promise
  assert.ok(fetched < 200, `${fetched} MB were fetched for one that read a chunk`)
})

test('rows are loaded page by page, each after the last row of the previous page', async () => {
  const asked: (string | undefined)[] = []
  const load = async ({ after, limit }: { after: string | undefined; limit: number }) => {
    asked.push(after)
    const start = Number(after ?? 0)
    return Array.from({ length: Math.min(limit, 1_200 - start) }, (_, at) => start + at + 1)
  }
  const seen: number[] = []
  for await (const row of allRows(load, String)) seen.push(row)
  assert.deepEqual(
    seen,
    Array.from({ length: 1_200 }, (_, at) => at + 1),
  )
  assert.deepEqual(asked, [undefined, '500', '1000'])
})
