import { type Client, createClient } from '../client/client.ts'
import { ServiceUnreachable } from '../client/failures.ts'
import type { ExitCode } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out } from './out.ts'
import { type RunArguments, runOnce } from './run.ts'
import { warnOfIgnored } from './world.ts'

interface QuickstartArguments extends Omit<RunArguments, 'isTemporary'>, ServerInputs {
  /** True: the user has given the address of a service, so do not start another one. */
  readonly isUrlGiven: boolean
}

interface QuickstartTools {
  readonly client: Client
  readonly server: LocalService
  readonly fetch: typeof globalThis.fetch
}

const healthTimeoutMs = 500

/** `run`: uses the running service, else starts one for the duration of this command. */
export async function quickstart(
  { client, server, fetch }: QuickstartTools,
  args: QuickstartArguments,
  out: Out,
): Promise<ExitCode> {
  const { env, overrides, isUrlGiven, ...run } = args
  if (isUrlGiven || (await isReachable(client))) return runOnce(client, { ...run, isTemporary: false }, out)
  out.note(dim(`No service at ${client.baseUrl}; starting a temporary one ...`))
  const config = await server.configure({ env, overrides: temporaryOf(overrides) })
  const running = await server.start(config, { logLevel: env['LOG_LEVEL'] ? config.logLevel : 'error' })
  try {
    const temporary = createClient({
      baseUrl: running.url,
      key: config.masterKey,
      fetch,
      onIgnored: warnOfIgnored(out),
    })
    return await runOnce(temporary, { ...run, isTemporary: true }, out)
  } finally {
    await running.stop()
  }
}

/** Any free port of loopback, to avoid conflicts with other programs, and no console, which takes longer to build. */
const temporaryOf = (overrides: ServerInputs['overrides']): ServerInputs['overrides'] => ({
  ...overrides,
  host: '127.0.0.1',
  port: 0,
  noConsole: true,
})

/** True when any server responds; the first call shows whether it is a Switchyard service. */
async function isReachable(client: Client): Promise<boolean> {
  const signal = AbortSignal.timeout(healthTimeoutMs)
  try {
    await client.system.health({}, { signal })
    return true
  } catch (error) {
    return !(error instanceof ServiceUnreachable) && !signal.aborted
  }
}
