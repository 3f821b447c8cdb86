// The service as a process of its own: prints `listening <url>`, and stops cleanly on SIGTERM.
import { loadConfig } from '../../src/server/config.ts'
import { startServer } from '../../src/server/main.ts'
import { createLog } from '../../src/server/platform/log.ts'

const config = loadConfig({ env: process.env })
const server = await startServer({ config, log: createLog(config.logLevel) })
process.once('SIGTERM', () => void server.stop())
process.stdout.write(`listening ${server.url}\n`)
