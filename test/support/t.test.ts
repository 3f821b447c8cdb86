import { test } from 'node:test'
import { send } from './send.ts'
import { startService } from './service.ts'
test('x', async () => {
const s = await startService()
for (const mb of [3, 40, 40]) for (const headers of [{}, { 'transfer-encoding': 'chunked' }, {'x-api-key': 'wrong'}, {'content-type': 'text/plain'}]) for (let i = 0; i < 5; i++)
console.log(mb, headers, await send(s, 'POST /api/agents', { headers, body: 'x'.repeat(mb * 1e6) }).then(a => a.status + a.text + JSON.stringify(a.headers), e => String(e)))
})
