// Starts the embedded database in its own process: prints one line, `{"url"}` or `{"error"}`, and serves until SIGTERM.
import { startEmbeddedPostgres } from '../../../src/server/db/embedded-postgres.ts'
import { createLog } from '../../../src/server/platform/log.ts'

const [dataDir = ''] = process.argv.slice(2)
try {
  const server = await startEmbeddedPostgres({ dataDir, maxConnections: 300, log: createLog('silent') })
  process.once('SIGTERM', () => void server.stop())
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
}
