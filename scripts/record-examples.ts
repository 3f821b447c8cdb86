// npm run examples    writes the responses that the API reference shows, from a service that answers the examples
import { spawnSync } from 'node:child_process'

const args = ['scripts/test.ts', 'test/api-reference/examples.test.ts']
const env = { ...process.env, SWITCHYARD_RECORD_EXAMPLES: '1' }
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1
