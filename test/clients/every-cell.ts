import { test } from 'node:test'
import { foreignTo, startCells } from './cells.ts'
import { clients } from './clients.ts'

/** The whole table, for `main.ts`: each cell reports itself as the diagnostic of its test, whatever came out. */
const { cell } = await startCells()

for (const client of clients) {
  for (const protocol of foreignTo(client)) {
    test(`${client.name} on ${protocol}`, async context => {
      context.diagnostic(JSON.stringify(await cell(client, protocol)))
    })
  }
}
