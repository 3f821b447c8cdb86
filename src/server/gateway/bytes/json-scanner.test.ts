import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assembled, folder } from '../../../../scripts/assembled.ts'

test('json-scanner.wasm matches its source', async () => {
  const inUse = readFileSync(join(folder, 'json-scanner.wasm'))
  assert.deepEqual(inUse, Buffer.from(await assembled('json-scanner')), 'run: npm run wasm')
})
