import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { useUpDescriptors } from './open-files.ts'
import { runOnBench } from './run-cases.ts'

test('V3: the service survives floods of connections under a small limit of open files, and its prompts end', async () => {
  const { url } = await freshDatabase()
  await runOnBench(bench => useUpDescriptors(bench, { rounds: 3, database: url }), { seed: 1 })
})
