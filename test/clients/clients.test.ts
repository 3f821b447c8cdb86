import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foreignTo, startCells } from './cells.ts'
import { clients } from './clients.ts'

const { cell } = await startCells()

/** Every foreign format has its turn: they go round with the clients. The whole table is that of `npm run clients`. */
for (const [at, client] of clients.entries()) {
  const foreign = foreignTo(client)
  const protocol = foreign[at % foreign.length] ?? assert.fail()
  test(`${client.name} does what it can with a model that speaks ${protocol}`, async () => {
    const { results } = await cell(client, protocol)
    assert.ok(Object.keys(results).length > 0)
    for (const [feature, result] of Object.entries(results))
      assert.equal(result, 'passed', `${feature} of ${client.name}`)
  })
}
