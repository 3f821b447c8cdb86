import { bannerLines } from './banner.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import type { Out } from './out.ts'
import type { World } from './world.ts'

interface ServeArguments extends ServerInputs {
  readonly stop: AbortSignal
  readonly onHangUp: World['onHangUp']
  /** True: the log goes to a terminal. */
  readonly isLogRead: boolean
}

/** `serve`: runs the service until `stop` aborts. */
export async function serve(
  server: LocalService,
  { env, overrides, stop, onHangUp, isLogRead }: ServeArguments,
  out: Out,
): Promise<ExitCode> {
  const config = await server.configure({ env, overrides })
  for (const warning of config.warnings) out.note({ text: `! ${warning}`, tone: 'warning' })
  const running = await server.start(config, { inputs: { env, overrides }, stop, isTerminal: isLogRead })
  onHangUp?.(() => running.reload())
  const { url, database, models, sandboxDriver, workers } = running
  out.data({ type: 'switchyard.listening', url, database, models, sandbox: sandboxDriver, workers })
  for (const line of bannerLines(running, config)) out.line(...line)
  await aborted(AbortSignal.any([stop, running.lost]))
  if (!running.lost.aborted)
    out.note('Stopping: finishing requests and handing sessions over (press Ctrl-C again to quit immediately).')
  // After Ctrl-C a person waits, so stop without delay; SIGTERM comes from a supervisor, often behind a load balancer.
  await running.stop({ serveOnMs: stop.reason === 'SIGTERM' ? config.drainDelayMs : 0 })
  if (running.lost.aborted) throw new CommandFailed(`service cannot continue: ${running.lost.reason.message}`)
  return exitCodes.ok
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
