import { type Client, createClient } from '../client/client.ts'
import { ServiceUnreachable } from '../client/failures.ts'
import type { ExitCode } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out } from './out.ts'
import { type RunArguments, runOnce } from './run.ts'
import { warnOfIgnored } from './world.ts'

interface QuickstartArguments extends Omit<RunArguments, 'isTemporary'>, ServerInputs {
  /** The user named a service: then no other one takes its place. */
  readonly isUrlGiven: boolean
}

interface QuickstartTools {
  readonly client: Client
  readonly server: LocalService
  readonly fetch: typeof globalThis.fetch
}

const answerMs = 500

/** `run`: on the service that answers, else on one that lives as long as this command. */
export async function quickstart(
  { client, server, fetch }: QuickstartTools,
  args: QuickstartArguments,
  out: Out,
): Promise<ExitCode> {
  const { env, overrides, isUrlGiven, ...run } = args
  if (isUrlGiven || (await answers(client))) return runOnce(client, { ...run, isTemporary: false }, out)
  out.note(dim(`No service at ${client.baseUrl}: starting one for this run ...`))
  // Any free port of loopback: the run must not depend on what else this machine does.
  const config = await server.configure({ env, overrides: { ...overrides, host: '127.0.0.1', port: 0 } })
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

/** Whether something answers there at all; what it is shows itself at the first call. */
async function answers(client: Client): Promise<boolean> {
  const signal = AbortSignal.timeout(answerMs)
  try {
    await client.system.health({}, { signal })
    return true
  } catch (error) {
    return !(error instanceof ServiceUnreachable) && !signal.aborted
  }
}
