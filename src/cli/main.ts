import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { exitCodes } from './exit-codes.ts'
import { secondStart } from './second-start.ts'
import { createStopSignals } from './signals.ts'

// The only file of the CLI that accesses `process`.

const { env, stdin, stdout, stderr } = process

const signals = createStopSignals({ quit: () => process.exit(exitCodes.interrupted), nowMs: () => performance.now() })
process.on('SIGINT', signals.onSignal)
process.on('SIGTERM', signals.onSignal)
// Replaces Node's own listener, which starts the debugger. The launcher's flag disables it from the start, but
// "node src/cli/main.ts" runs without that flag.
process.on('SIGUSR1', () => {})

// `switchyard sessions ls | head` closes the pipe early; that is not an error.
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed)
  })
}

const args = process.argv.slice(2)
const conflict = await secondStart(args, env)
if (conflict !== undefined) {
  stderr.write(
    args.includes('--json') ? `${JSON.stringify({ error: { message: conflict, code: 'failed' } })}\n` : `${conflict}\n`,
  )
  process.exit(exitCodes.failed)
}

const isTerminal = stdout.isTTY === true

/** Reads one line; empty at the end of the input. */
async function readLine(input: NodeJS.ReadStream): Promise<string> {
  const lines = createInterface({ input })
  const { promise, resolve } = Promise.withResolvers<string>()
  lines.once('line', resolve).once('close', () => resolve(''))
  return promise.finally(() => lines.close())
}

/** Columns of the terminal, or of an exported COLUMNS. */
function columnsOf(): number | undefined {
  const given = Number(env['COLUMNS'])
  return Number.isInteger(given) && given > 0 ? given : isTerminal ? stdout.columns : undefined
}
// Imported after the check, because these imports take most of the start time.
const [{ runCommandLine }, { localService }, { readHiddenLine }] = await Promise.all([
  import('./program.ts'),
  import('./local-service.ts'),
  import('./hidden-line.ts'),
])
const code = await runCommandLine(args, {
  env,
  nodeVersion: process.versions.node,
  stdin: {
    isTerminal: stdin.isTTY === true,
    read: () => text(stdin),
    ...(stdin.isTTY === true && { readHidden: () => readHiddenLine(stdin), readLine: () => readLine(stdin) }),
  },
  stdout,
  stderr,
  isTerminal,
  isErrorTerminal: stderr.isTTY === true,
  hasColours: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
  columns: columnsOf(),
  stop: signals.stop,
  onHangUp: isTerminal ? undefined : listener => void process.on('SIGHUP', listener),
  server: localService,
  fetch,
  nowMs: Date.now,
})
process.exitCode = code
// The command has finished: give output 1 s to flush, then exit even if a connection is still open.
setTimeout(() => process.exit(code), 1_000).unref()
