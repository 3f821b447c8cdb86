import process from 'node:process'
import { text } from 'node:stream/consumers'
import { exitCodes } from './exit-codes.ts'
import { secondStart } from './second-start.ts'
import { createStopSignals } from './signals.ts'

// The only file of the command line that touches the process.

const { env, stdin, stdout, stderr } = process

const signals = createStopSignals({ quit: () => process.exit(exitCodes.interrupted), nowMs: () => performance.now() })
process.on('SIGINT', signals.onSignal)
process.on('SIGTERM', signals.onSignal)
// A listener takes the place of Node's own, which opens the debugger. The launcher's flag does that from the first moment on,
// but "node src/cli/main.ts" comes without it.
process.on('SIGUSR1', () => {})

// `switchyard sessions ls | head` closes the pipe early; that is no error of ours.
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed)
  })
}

const args = process.argv.slice(2)
const refusal = await secondStart(args, env)
if (refusal !== undefined) {
  stderr.write(
    args.includes('--json') ? `${JSON.stringify({ error: { message: refusal, code: 'failed' } })}\n` : `${refusal}\n`,
  )
  process.exit(exitCodes.failed)
}

const isTerminal = stdout.isTTY === true
// Loaded only now: they are most of what a start takes.
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
    ...(stdin.isTTY === true && { readHidden: () => readHiddenLine(stdin) }),
  },
  stdout,
  stderr,
  isTerminal,
  isErrorTerminal: stderr.isTTY === true,
  hasColours: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
  stop: signals.stop,
  onHangUp: isTerminal ? undefined : listener => void process.on('SIGHUP', listener),
  server: localService,
  fetch,
  nowMs: Date.now,
})
process.exitCode = code
// The command is done: a connection that cannot be closed must not keep the process. Output has this long to get out.
setTimeout(() => process.exit(code), 1_000).unref()
