import type { Config, Environment, Overrides } from '../server/config.ts'
import type { Finding } from '../server/doctor.ts'
import type { RunningServer } from '../server/main.ts'
import type { Upgrade } from '../server/upgrade.ts'
import { bannerLines } from './banner.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { Out } from './out.ts'

/** What the commands that work without a running service need; the only door from here to the server's code. */
export interface LocalServer {
  /** Throws CommandFailed for a configuration that cannot be used. */
  configure(inputs: { env: Environment; overrides: Overrides }): Promise<Config>
  /** Throws CommandFailed with cause and next step. `logLevel` replaces that of the configuration. */
  start(config: Config, options?: { readonly logLevel?: string }): Promise<RunningServer>
  examine(inputs: { env: Environment; overrides: Overrides }): Promise<Finding[]>
  examinePort(inputs: { env: Environment; overrides: Overrides }): Promise<Finding | undefined>
  upgrade(config: Config, mode: 'plan' | 'apply'): Promise<Upgrade>
}

/** The server of this package. Its code is loaded at first use: commands that only talk to a service start faster. */
export const localServer: LocalServer = {
  async configure(inputs) {
    const { ConfigError, loadConfig } = await import('../server/config.ts')
    try {
      return loadConfig(inputs)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      throw new CommandFailed(`The configuration cannot be used:\n${indented(error.message)}`)
    }
  },
  async start(config, { logLevel = config.logLevel } = {}) {
    const { startServer } = await import('../server/main.ts')
    const { createLog } = await import('../server/platform/log.ts')
    return explained(() => startServer({ config, log: createLog(logLevel) }), 'The service did not start')
  },
  async examine(inputs) {
    return (await import('../server/doctor.ts')).examine(inputs)
  },
  async examinePort(inputs) {
    return (await import('../server/doctor.ts')).examinePort(inputs)
  },
  async upgrade(config, mode) {
    const { upgradeDatabase } = await import('../server/upgrade.ts')
    const { createLog } = await import('../server/platform/log.ts')
    return explained(
      () => upgradeDatabase({ config, log: createLog('error'), mode }),
      'The database was not brought up to date',
    )
  },
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

/** The server's own refusals say cause and next step; whatever else is thrown has at least a message. */
async function explained<T>(work: () => Promise<T>, what: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new CommandFailed(`${what}: ${error instanceof Error ? error.message : error}`)
  }
}

export interface ServeArguments {
  readonly env: Environment
  readonly overrides: Overrides
  readonly stop: AbortSignal
}

/** `serve`: runs the service until it is told to stop. */
export async function serve(
  server: LocalServer,
  { env, overrides, stop }: ServeArguments,
  out: Out,
): Promise<ExitCode> {
  const config = await server.configure({ env, overrides })
  for (const warning of config.warnings) out.note({ text: `! ${warning}`, tone: 'warning' })
  const running = await server.start(config)
  const { url, database, models, sandboxDriver } = running
  out.data({ type: 'switchyard.listening', url, database, models, sandbox: sandboxDriver })
  for (const line of bannerLines(running, config)) out.line(...line)
  await aborted(AbortSignal.any([stop, running.lost]))
  if (!running.lost.aborted)
    out.note('Stopping: requests finish, sessions are handed over (Ctrl-C again quits at once).')
  await running.stop()
  if (running.lost.aborted) throw new CommandFailed(`The service cannot go on: ${running.lost.reason.message}`)
  return exitCodes.ok
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
