import type { LocalProgram } from '../local/programs.ts'
import { cleanText } from '../remote/connection.ts'
import { RuntimeFailure } from '../runtime.ts'
import { RpcError } from './json-rpc.ts'

/** The protocol's error code for a call that needs a login first. */
export const authNeeded = -32_000

interface Failing {
  /** Alias of its runtime. */
  readonly alias: string
  readonly program: LocalProgram
  /** Names of the authentication methods that it listed. */
  readonly authMethods: readonly string[]
}

/** Converts an error of a call to a failure, without the credential of the run. */
export function asFailure(error: unknown, failing: Failing): RuntimeFailure {
  if (error instanceof RuntimeFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof RpcError)) return failure(`the program exited: ${cleaned(message, failing.program)}`)
  const needsLogin = error.code === authNeeded && failing.authMethods.length > 0
  const words = needsLogin ? loginWords(failing) : `the program failed: ${cleaned(message, failing.program)}`
  return failure(words, String(error.code))
}

/** Adds exit code and standard error to the failure of a turn whose program has exited. */
export async function explained(error: RuntimeFailure, program: LocalProgram): Promise<RuntimeFailure> {
  if (error.code !== undefined) return error
  const { code } = await program.exited
  const words = cleaned(program.errors().trim().split('\n').slice(-3).join(' '), program)
  const end = code === null ? 'after a signal' : `with exit code ${code}`
  return failure(`the program exited during the turn ${end}${words === '' ? '' : `: ${words}`}`)
}

function loginWords({ alias, program, authMethods }: Failing): string {
  const names = cleaned(authMethods.join(', '), program)
  return `program ${alias} requires authentication (${names}); log in with it, or set its variables in env of the configuration file`
}

const cleaned = (words: string, { surroundings }: LocalProgram): string =>
  cleanText(words, { apiKey: surroundings.gatewayKey })

const failure = (message: string, code?: string): RuntimeFailure =>
  new RuntimeFailure('model_request_failed_error', message, { code })
